//! On simulated machines of known truth: how much the answer loses against the best that brute force finds.

mod machine;
mod truth;

use q2c_stats::{percentile, sorted};
use rayon::prelude::*;
use truth::{Score, by_simulation_alone, refereed};

/// Machines drawn at random, kept by their seeds.
const SEEDS: std::ops::Range<u64> = 0..200;

struct Summary {
    regret: [f64; 3],
    broke_the_floor: f64,
    false_no_room: f64,
}

fn summary(scores: &[Score]) -> Summary {
    let regret = sorted(&scores.iter().map(|s| s.regret).collect::<Vec<_>>());
    let share = |which: fn(&Score) -> bool| {
        scores.iter().filter(|s| which(s)).count() as f64 / scores.len() as f64
    };
    Summary {
        regret: [0.5, 0.95, 1.0].map(|q| percentile(&regret, q)),
        broke_the_floor: share(Score::broke_the_floor),
        false_no_room: share(Score::false_no_room),
    }
}

fn tell(name: &str, scores: &[Score]) -> Summary {
    let found = summary(scores);
    let mut trials: Vec<u32> = scores.iter().map(|s| s.trials).collect();
    trials.sort_unstable();
    println!(
        "{name}: regret median {:.2} %, p95 {:.2} %, worst {:.1} %; floor broken {:.1} %; false no room {:.1} %; \
         trials median {}",
        found.regret[0] * 100.0,
        found.regret[1] * 100.0,
        found.regret[2] * 100.0,
        found.broke_the_floor * 100.0,
        found.false_no_room * 100.0,
        trials[trials.len() / 2]
    );
    if std::env::var_os("Q2C_TELL").is_some() {
        let worst = scores
            .iter()
            .filter(|s| s.regret > 0.04 || s.broke_the_floor() || s.false_no_room());
        worst.for_each(|score| println!("  {score:?}"));
    }
    found
}

#[test]
fn the_answer_is_near_the_true_best() {
    let seeds = match std::env::var("Q2C_MACHINES").map(|n| n.parse()) {
        Ok(Ok(most)) => 0..most,
        _ => SEEDS,
    };
    let all = |answer: fn(u64) -> Score| -> Vec<Score> {
        seeds.clone().into_par_iter().map(answer).collect()
    };
    if let Ok(seed) = std::env::var("Q2C_DIAG") { for s in seed.split(',') { refereed(s.parse().unwrap()); } return; }
    let before = tell("simulation alone", &all(by_simulation_alone));
    let now = tell("with a referee", &all(refereed));
    assert!(now.regret[0] < 0.02, "median regret {}", now.regret[0]);
    assert!(now.regret[1] < 0.08, "95th percentile {}", now.regret[1]);
    assert!(now.broke_the_floor < 0.02, "{}", now.broke_the_floor);
    assert!(now.false_no_room < 0.01, "{}", now.false_no_room);
    assert!(now.regret[1] < before.regret[1]);
}

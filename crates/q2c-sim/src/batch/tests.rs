//! Every SIMD level gives the same outcomes, a trace may come in parts, feeding allocates nothing.

use super::*;
use q2c_model::stats::Rng;
use q2c_model::{Curve, Direction, Nanos, WakeDelay};
use q2c_policy::Io;

fn trace(ios: usize, sizes: u64) -> LaneRecording {
    let mut rng = Rng::new(11);
    let mut trace = LaneRecording::default();
    for _ in 0..ios {
        let class = rng.below(2 * sizes) as u32;
        let direction = [Direction::Read, Direction::Write][class as usize % 2];
        let bytes = 512 << (class / 2);
        let io = Io { direction, bytes };
        let wait = 20_000 + rng.below(30_000);
        trace.push(io, 900.0, wait as f32, 300.0);
    }
    trace
}

fn line(a: f64, b: f64) -> Curve {
    Curve {
        x: vec![5_000.0, 40_000.0],
        y: vec![a, b],
    }
}

fn cost(spread: f64) -> CostModel {
    let delay = |base: f64| WakeDelay {
        base_ns: Curve::constant(base),
        spread_ns: Curve::constant(spread),
        z: (0..97).map(|n| f64::from(n * n % 41) / 7.0 - 2.0).collect(),
        ..WakeDelay::default()
    };
    let mut cost = CostModel {
        wake_clear: delay(2_100.0),
        wake_hit: delay(2_700.0),
        hit_lead_ns: 800.0,
        reap_hit_ns: 150.0,
        sleep_cpu_clear_ns: Curve::constant(1_300.0),
        sleep_cpu_hit_ns: Curve::constant(1_700.0),
        other_cpu_poll_ns: 100.0,
        other_cpu_sleep_ns: 400.0,
        ..CostModel::delayed(Nanos::ZERO)
    };
    if spread > 0.0 {
        cost.wake_clear.base_ns = line(2_000.0, 3_333.0);
        cost.wake_hit.base_ns = line(2_900.0, 1_200.0);
        cost.added_latency_ns = line(77.0, -33.0);
        cost.added_submit_ns = line(10.0, 90.0);
    }
    cost
}

fn policies() -> Vec<PolicySpec> {
    let mut texts: Vec<String> = vec!["fixed:17us".to_owned()];
    for ratio in [20, 50, 65, 80, 95] {
        for period in [100, 1_000, 7_000] {
            for rule in ["mean", "min"] {
                texts.push(format!("{rule}:{ratio}%,{period}us"));
            }
        }
    }
    texts.extend((1..70).map(|n| format!("pas:up=0.0{n:02},down=0.1")));
    let parse = |text: String| text.parse().expect("a rule of the registry");
    texts.into_iter().map(parse).collect()
}

fn batch(cost: &CostModel, percentiles: bool) -> Batch {
    let drive = Drive {
        warm_up: Nanos(10_000_000),
        measure: Drive::ONE_PASS,
        seed: 5,
    };
    let policies = policies();
    let fits = Batch::fits(&policies, cost);
    let pairs = policies.into_iter().zip(fits).filter(|(_, fits)| *fits);
    let policies: Vec<PolicySpec> = pairs.map(|(policy, _)| policy).collect();
    Batch::new(&policies, cost, drive, percentiles).expect("rules it holds")
}

fn levels() -> Vec<Level> {
    let best = Level::new();
    let mut levels = vec![best];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(best.as_avx2().map(Level::Avx2));
        levels.extend(best.as_sse4_2().map(Level::Sse4_2));
        levels.extend(best.as_sse2().map(Level::Sse2));
    }
    levels
}

#[test]
fn all_levels_give_the_same() {
    for (spread, sizes, percentiles) in [
        (0.0, 1, false),
        (0.0, 8, true),
        (450.0, 1, true),
        (450.0, 8, true),
    ] {
        let cost = cost(spread);
        let trace = trace(8_000, sizes);
        let run_at = |level: Level| {
            let mut batch = batch(&cost, percentiles);
            batch.level = level;
            batch.feed(&trace).expect("short times");
            batch.finish()
        };
        let levels = levels();
        let best = run_at(levels[0]);
        for &level in &levels[1..] {
            let case = format!("{level:?}, spread {spread}, {sizes} sizes");
            assert_eq!(best, run_at(level), "{case}");
        }
    }
}

#[test]
fn a_trace_may_come_in_parts() {
    for (spread, sizes) in [(0.0, 1), (450.0, 4)] {
        let cost = cost(spread);
        let whole = trace(20_000, sizes);
        let mut at_once = batch(&cost, false);
        at_once.feed(&whole).expect("short times");
        let mut parts = batch(&cost, false);
        let (mut rng, mut from) = (Rng::new(3), 0);
        while from < whole.len() {
            let to = whole.len().min(from + 1 + rng.below(5_000) as usize);
            let part = whole.part(from..to);
            parts.feed(&part).expect("short times");
            from = to;
        }
        assert_eq!(at_once.finish(), parts.finish());
    }
}

/// The first piece may allocate: it sets the limit of the percentiles.
#[test]
fn nothing_is_allocated() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a pool").install(|| {
        let trace = trace(17_000, 4);
        for spread in [0.0, 450.0] {
            let mut batch = batch(&cost(spread), true);
            batch.feed(&trace).expect("short times");
            let info = allocation_counter::measure(|| batch.feed(&trace).expect("short times"));
            assert_eq!(info.count_total, 0, "spread {spread}");
        }
    });
}

#[test]
fn times_that_do_not_fit_are_refused() {
    let mut long = trace(10, 1);
    long.wait[7] = 6e8;
    let mut batch = batch(&cost(0.0), false);
    assert_eq!(batch.feed(&long), None);
    assert_eq!(batch.input.piece.len(), 0, "nothing was replayed");
}

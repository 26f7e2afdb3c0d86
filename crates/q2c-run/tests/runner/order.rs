use crate::fake::{FakePlan, folder, new_run, precision, root, run, warned};
use q2c_run::runner::{CellPlan, End, SessionClock};
use q2c_run::{CellError, Context, RunState, Settings};
use std::collections::BTreeSet;

fn settings(trials: u32, seed: u64) -> Settings {
    Settings {
        seed,
        ..crate::fake::trials(trials)
    }
}

fn order_of(seed: u64) -> Vec<String> {
    let mut plan = FakePlan::new(8);
    run(&mut plan, &settings(5, seed), &mut folder(&root())).unwrap();
    plan.ran
}

#[test]
fn every_round_runs_each_cell_once_shuffled_and_reproducible() {
    let ran = order_of(42);
    assert_eq!(ran.len(), 40);
    for (round, names) in ran.chunks(8).enumerate() {
        let names: BTreeSet<String> = names.iter().cloned().collect();
        let expected: BTreeSet<String> = (0..8).map(|cell| format!("c{cell}/{round}")).collect();
        assert_eq!(names, expected);
    }
    assert_eq!(ran, order_of(42));
    // There are 8! orders for each of 5 rounds, so two seeds agree by chance once in 10^23.
    assert_ne!(ran, order_of(43));
    let cells = |round: &[String]| round.iter().map(|name| name[..2].to_owned()).collect();
    let orders: BTreeSet<Vec<String>> = ran.chunks(8).map(cells).collect();
    assert!(orders.len() > 1);
}

#[test]
fn a_complete_run_has_every_trial_in_its_place() {
    let (_root, mut folder) = new_run();
    let mut plan = FakePlan::new(3).script(|key, context| {
        let cell: f64 = key[1..].parse().unwrap();
        Ok(cell * 100.0 + f64::from(context.trial))
    });
    let summary = run(&mut plan, &settings(5, 9), &mut folder).unwrap();
    assert!(matches!(summary.end, End::Complete));
    assert_eq!((summary.trials, summary.seconds), (5, 150.0));
    assert!(warned(&summary).is_empty());
    let outcomes: Vec<f64> = summary.cells[2].outcomes().copied().collect();
    assert_eq!(outcomes, [200.0, 201.0, 202.0, 203.0, 204.0]);
    let interval = summary.cells[2].interval(|x| *x);
    assert_eq!((interval.min, interval.max), (200.0, 204.0));
    assert_eq!(interval.median, 202.0);
    assert_eq!(summary.state(), RunState::Complete);
    assert_eq!(plan.clock.monotonic().as_secs(), 150);
}

#[test]
fn trials_are_added_to_unsteady_cells_alone_until_tight_or_out_of_trials() {
    let root = root();
    let settings = Settings {
        precision: precision(0.02, 12),
        ..settings(5, 1)
    };
    // c0 is steady. c1 has one wild trial, which drops out of the interval at 9 trials. c2 never
    // becomes steady.
    let mut plan = FakePlan::new(3).script(|key, context| match (key, context.trial) {
        ("c1", 3) => Ok(150.0),
        ("c2", odd) if odd % 2 == 1 => Ok(200.0),
        _ => Ok(100.0),
    });
    let summary = run(&mut plan, &settings, &mut folder(&root)).unwrap();
    let counts: Vec<usize> = summary.cells.iter().map(|cell| cell.trials.len()).collect();
    assert_eq!(counts, [5, 9, 12]);
    assert_eq!(warned(&summary), ["interval-wide"]);
    assert!(summary.warnings[0].found.contains("cell c2"));
    assert_eq!(plan.ran.len(), 26);
}

#[test]
fn a_plan_that_breaks_the_contract_is_refused() {
    struct Twice;
    impl q2c_run::Plan for Twice {
        type Cell = u32;
        type Outcome = f64;
        const UNIT: &'static str = "s";
        fn cells(&self) -> Vec<CellPlan<u32>> {
            let cell = CellPlan {
                key: "a".to_owned(),
                label: "a".to_owned(),
                seconds: 1.0,
                cell: 1,
            };
            vec![cell.clone(), cell]
        }
        fn metric(&self, outcome: &f64) -> f64 {
            *outcome
        }
        fn run(&mut self, _: &CellPlan<u32>, _: &mut Context<'_>) -> Result<f64, CellError> {
            unreachable!("refused before")
        }
    }
    let refused = q2c_run::runner::Forecast::from_plan(&Twice, &settings(5, 1)).unwrap_err();
    assert!(refused.to_string().contains("found a twice"), "{refused}");
    for (cells, trials, lacks) in [(1, 0, "at least 1 trial"), (0, 1, "at least one cell")] {
        let mut plan = FakePlan::new(cells);
        let refused = run(&mut plan, &settings(trials, 1), &mut folder(&root()));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(lacks), "{refused}");
    }
}

#[test]
fn nothing_waits_for_rounds_that_no_cell_wants() {
    let settings = Settings {
        precision: precision(0.5, u32::MAX),
        ..settings(5, 1)
    };
    let mut plan = FakePlan::new(2).script(|_, _| Ok(1.0));
    run(&mut plan, &settings, &mut folder(&root())).unwrap();
    assert_eq!(plan.ran.len(), 10);
}

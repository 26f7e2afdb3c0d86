use super::*;
use q2c_result::reproduce::{JobSeries, PhaseTrial, ReproduceVerdict, Tick};
use q2c_run::runner::{CellPlan, CellRuns};

const ONE_PHASE: &str = r#"schema = "q2c.reproduce/2"
name = "small"
title = "Small"
setting = "nowhere"

[[device]]
name = "disk"
make = "sim:10ms"

[[job]]
name = "reader"
device = "disk"

[[phase]]
name = "only"
length = "1s"

[[claim]]
says = "it reads"
expect = "iops > 50"
"#;

/// A trial of one second with this number of I/Os; `None` makes a failed trial.
fn trial(trial: u32, ios: Option<f64>) -> Trial<PointTrial> {
    let series = |ios| JobSeries {
        job: "reader".to_owned(),
        ticks: vec![Tick {
            end_s: 1.0,
            seconds: 1.0,
            ios,
            ..Tick::default()
        }],
        ..JobSeries::default()
    };
    let outcome = |ios| PointTrial {
        trial,
        phases: vec![PhaseTrial {
            jobs: vec![series(ios)],
            ..PhaseTrial::default()
        }],
        ..PointTrial::default()
    };
    let failed = || TrialResult::Failed(format!("reason {trial}"));
    Trial {
        trial,
        session: 1,
        ended_unix_s: 0.0,
        seconds: 1.0,
        result: ios.map_or_else(failed, |ios| TrialResult::Ok(outcome(ios))),
    }
}

/// The second and the fourth of five trials failed.
#[test]
fn a_claim_has_the_numbers_of_its_trials_and_the_reasons_of_those_that_failed() {
    let ios = [Some(100.0), None, Some(300.0), None, Some(200.0)];
    let trials = (0..).zip(ios).map(|(n, ios)| trial(n, ios));
    let summary = Summary {
        cells: vec![CellRuns {
            plan: CellPlan {
                key: "at ".to_owned(),
                label: "small".to_owned(),
                seconds: 1.0,
                cell: AxisValues::new(),
            },
            trials: trials.collect(),
        }],
        trials: 5,
        seconds: 5.0,
        end: End::Complete,
        warnings: Vec::new(),
    };
    let facts = RunFacts {
        present: &Features::default(),
        target: None,
        scale: 1.0,
        trials: 5,
        seed: 1,
        started_unix_s: 0,
        seconds: 5.0,
        idle_busy_cpus: 0.0,
    };
    let experiment = Experiment::parse(ONE_PHASE).unwrap();
    let result = answer(&experiment, &facts, &summary, |_| Vec::new());
    let numbers: Vec<u32> = result.points[0].trials.iter().map(|t| t.trial).collect();
    assert_eq!(numbers, [0, 2, 4]);
    let claim = &result.claims[0];
    assert_eq!(claim.verdict, ReproduceVerdict::Holds);
    let expected = &claim.expects[0];
    assert_eq!(expected.measured.unwrap().median, 200.0);
    assert_eq!((expected.trials.judged, expected.trials.asked), (3, 5));
    let failed_trial = |trial, reason: &str| FailedTrial {
        trial,
        why: TrialFailure::Told(reason.to_owned()),
    };
    let left_out = [failed_trial(1, "reason 1"), failed_trial(3, "reason 3")];
    assert_eq!(expected.trials.left_out, left_out);
}

//! Placements on fake machines with known speeds, and trials on this one.

use super::conclude::{classes, polling_alone};
use super::cores::Cores;
use super::plan::{PlaceRunPlan, PlaceTrialRunner, RunTrial};
use super::spec::{PlaceRunSettings, RunCell};
use super::{PollTrial, conclude};
use crate::map::{Core, SmtMap};
use crate::scheduler::hints::Hints;
use q2c_host::Roots;
use q2c_model::{Bytes, Latencies};
use q2c_result::place::PolicyName;
use q2c_result::place_run::PlacementGain;
use q2c_run::arguments::from_words;
use q2c_run::runner::progress::SilentProgress;
use q2c_run::runner::{CellError, Context, Runner, Settings, Summary, SystemClock};
use q2c_run::{Identity, RunDir};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

fn spec(policies: &[PolicyName], trials: u32) -> PlaceRunSettings {
    let arguments = "--compute 1 --polling 1 --work float --trial 500ms --settle 200ms --seed 7";
    PlaceRunSettings {
        policies: policies.to_vec(),
        trials,
        ..from_words(arguments).expect("arguments")
    }
}

fn run<R: PlaceTrialRunner>(spec: &PlaceRunSettings, runs: R) -> Summary<RunCell, RunTrial> {
    let root = tempfile::tempdir().expect("a folder");
    let as_run = BTreeMap::from([("seed", spec.seed)]);
    let folder = RunDir::create(root.path(), "place", &as_run, &Identity::default());
    let mut folder = folder.expect("a run folder");
    let settings = Settings {
        trials: spec.trials,
        seed: spec.seed,
        ..Settings::default()
    };
    let mut plan = PlaceRunPlan {
        spec,
        policies: &spec.policies,
        runs,
    };
    let mut runner = Runner {
        settings: &settings,
        cancel: &AtomicBool::new(false),
        clock: &SystemClock::default(),
        progress: &mut SilentProgress,
    };
    runner.run(&mut plan, &mut folder).expect("a run")
}

/// A machine whose clock drifts from round to round. Bunch takes 2.0 times the time alone, scatter
/// 1.6, and the second of two tasks a tenth more.
struct Drifting;

impl PlaceTrialRunner for Drifting {
    fn run_trial(&mut self, cell: &RunCell, context: &Context<'_>) -> Result<RunTrial, CellError> {
        let drift = 1.0 + 0.3 * f64::from(context.trial);
        let times = match cell {
            RunCell::ComputeAlone(_) => vec![drift],
            RunCell::PollingAlone => Vec::new(),
            RunCell::Placed(PolicyName::Bunch, _) => vec![1.95 * drift, 2.05 * drift],
            RunCell::Placed(PolicyName::Scatter, _) => vec![1.6 * drift; 2],
            RunCell::Placed(policy, _) => {
                return Err(CellError::Cell(format!("place tasks as {policy:?}")));
            }
        };
        Ok(RunTrial {
            compute_s: times,
            polls: Some(PollTrial {
                iops: 1_000.0 / drift,
                latency: Latencies {
                    mean_ns: 80e3,
                    p50_ns: 70e3,
                    p99_ns: 90e3,
                    p999_ns: 95e3,
                },
            }),
            moves: None,
        })
    }
}

#[test]
fn times_are_set_against_the_task_alone_of_the_same_round() {
    let policies = [PolicyName::Bunch, PolicyName::Scatter, PolicyName::Free];
    let spec = spec(&policies, 5);
    let summary = run(&spec, Drifting);
    let classes = classes(&spec, &spec.policies, Some(Bytes(4_096)), &summary);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    let [bunch, scatter, free] = &classes[0].placements[..] else {
        panic!("three placements");
    };
    for (run, time) in [(bunch, 2.0), (scatter, 1.6)] {
        assert_eq!(run.c_slowdown.trials, 5);
        close(run.c_slowdown.min, time);
        close(run.c_slowdown.max, time);
    }
    assert_eq!(free.c_slowdown.trials, 0);
    assert!(free.failures[0].contains("Free"), "{:?}", free.failures);
    // 2.0 / 1.6 - 1 = 25 %, 1 - 1.6 / 2.0 = 20 %.
    let gains: Vec<&PlacementGain> = classes[0].gains.iter().collect();
    assert_eq!(gains.len(), 1, "no gain over a placement that was not run");
    close(gains[0].t_over_t_minus_1_pct.median, 25.0);
    close(gains[0].one_minus_pct.median, 20.0);
    assert_eq!(gains[0].published_pct, Some(17.0));
    let alone = polling_alone(Some(Bytes(4_096)), &summary).expect("P alone");
    close(alone.iops.max, 1_000.0);
    close(alone.bytes_per_s.max, 4_096_000.0);
    close(alone.latency.p99_ns.median, 90e3);
    assert_eq!(conclude::polling_alone(None, &summary), None);
}

/// Two CPUs as if they were a core's: all kinds of trials run, and tasks on one CPU share it.
#[test]
fn trials_run_on_this_machine() {
    let cpus = q2c_sys::thread::allowed_cpus().expect("CPUs");
    let [one, other, ..] = cpus[..] else {
        q2c_testkit::skip("placements", "this process may use one CPU only");
        return;
    };
    let map = SmtMap::new(&[Core {
        cpus: vec![one, other],
        llc: 0,
    }]);
    let policies = [PolicyName::Colocate, PolicyName::Free];
    let spec = PlaceRunSettings {
        polling: Some(2),
        ..spec(&policies, 1)
    };
    let roots = Roots::live();
    let request = WorkloadRequest {
        machine: None,
        target: "sim:200us".to_owned(),
        engine: None,
        pattern: "randread".parse().expect("a pattern"),
        sizes: vec![Bytes(4_096)],
        jobs: 1,
        cpus: vec![one],
        background: Vec::new(),
        allow_write: Vec::new(),
        seed: 1,
    };
    let bench = Workbench::open(&roots, &request, None, &AtomicBool::new(false));
    let bench = bench.expect("a simulated device");
    let journal = tempfile::tempdir().expect("a folder");
    let cores = Cores {
        map: &map,
        spec: &spec,
        polls: Some((&bench.workload, Bytes(4_096))),
        roots: &roots,
        journal: journal.path(),
        hints: &Hints::default(),
        clock: bench.workload.site.time.real().unwrap(),
    };
    let summary = run(&spec, cores);
    for cell in &summary.cells {
        let failures: Vec<&str> = cell.failures().collect();
        assert!(failures.is_empty(), "{}: {failures:?}", cell.plan.key);
    }
    let results = classes(&spec, &policies, Some(Bytes(4_096)), &summary);
    let polls = results[0].placements[0].polls.expect("P tasks");
    // A device of 200 us gives 5,000 I/Os per second and no more.
    let (iops, p50_ns) = (polls.iops.median, polls.latency.p50_ns.median);
    let is_possible = iops > 0.0 && iops <= 5_010.0 && p50_ns >= 200e3;
    assert!(is_possible, "{polls:?}");
}

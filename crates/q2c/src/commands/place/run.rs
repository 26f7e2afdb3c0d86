//! The command `q2c place run`.

use crate::commands::{restore, run_folder};
use crate::output::{say, show, unix_s};
use crate::progress::trial_progress;
use crate::workbench::open_named;
use q2c_host::signals::Orderly;
use q2c_host::tasks::isolated;
use q2c_host::topology::Topology;
use q2c_host::{Roots, machine};
use q2c_model::stats::Interval;
use q2c_model::{CpuId, Fault, OrFault};
use q2c_place::corun::calibrate::{CalibrationPlan, shared_pipeline, siblings};
use q2c_place::corun::run::conclude::{classes, polling_alone};
use q2c_place::corun::run::cores::Cores;
use q2c_place::corun::run::plan::{PlaceRunPlan, RunTrial};
use q2c_place::corun::run::spec::{PlaceRunSettings, RunCell};
use q2c_place::map::SmtMap;
use q2c_place::scheduler::map::from_topology;
use q2c_result::place::PolicyName;
use q2c_result::place_run::{PlaceRunResult, PlacementLeftOut, PollTask, SCHEMA};
use q2c_result::{Exit, Machine, Warning};
use q2c_run::runner::{End, Runner, Settings, SystemClock};
use q2c_run::{RunDir, Summary};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Trials that check whether the CPUs of a core share a pipeline; then the length of each.
const CHECK_TRIALS: u32 = 3;
const CHECK_LENGTH: Duration = Duration::from_millis(300);

pub(super) fn run(args: &PlaceRunSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    // After a signal the daemon of `proposed` restores the CPUs of tasks.
    let _orderly = Orderly::begin();
    let roots = Roots::live();
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let beside_own_kind = check_pipeline(&roots, &allowed, args.seed, stop)?;
    let isolated = isolated(&roots);
    // The cores and their CPUs that this process may use, without isolated CPUs.
    let usable = |cpu| allowed.contains(&cpu) && !isolated.contains(&cpu);
    let map = from_topology(&Topology::read(&roots), usable);
    let mut spec = args.clone();
    spec.settle(&map);
    let request = WorkloadRequest {
        engine: spec.engine.clone(),
        seed: spec.seed,
        // Each placement chooses the CPUs of its tasks.
        ..super::random_read_request(&spec.target, spec.bs, map.id(0))
    };
    let q2c_polls = spec.polls.is_none();
    let bench = q2c_polls.then(|| open_named(&request, stop)).transpose()?;
    let (policies, left_out) = split_policies(&spec, &roots, &allowed);
    let run = PlacementsRun {
        spec,
        map,
        bench,
        policies,
        left_out,
        beside_own_kind,
        roots,
    };
    run.measure(stop)
}

/// Checks that a core's CPUs share a pipeline. Returns the relative speed of the class of work that
/// loses most beside its own kind.
fn check_pipeline(
    roots: &Roots,
    allowed: &[CpuId],
    seed: u64,
    stop: &AtomicBool,
) -> Result<Interval, Fault> {
    let mut pair = siblings(roots, allowed, CHECK_LENGTH)?;
    let (first, second) = (pair.own.0, pair.other.0);
    let message = format!("checking whether CPUs {first} and {second} share a pipeline");
    say(&message);
    let plan = CalibrationPlan {
        trials: CHECK_TRIALS,
        trial: CHECK_LENGTH,
        seed,
    };
    let cpus = (pair.own, pair.other);
    shared_pipeline(&mut pair, cpus, plan, stop)
}

/// The placements available here, and those left out. The daemon treats a task with fewer CPUs than
/// the machine as pinned and never moves it.
fn split_policies(
    spec: &PlaceRunSettings,
    roots: &Roots,
    allowed: &[CpuId],
) -> (Vec<PolicyName>, Vec<PlacementLeftOut>) {
    let online = machine::online(roots);
    let may_use_all = online.iter().all(|cpu| allowed.contains(cpu));
    let policies = spec.policies.iter().copied();
    let (available, missing): (Vec<_>, Vec<_>) =
        policies.partition(|policy| may_use_all || *policy != PolicyName::Proposed);
    let left_out = |policy| PlacementLeftOut {
        policy,
        reason: format!(
            "q2c may use {} of {} CPUs, and its daemon moves no task that is kept to some CPUs; run it without taskset or cpuset",
            allowed.len(),
            online.len()
        ),
    };
    (available, missing.into_iter().map(left_out).collect())
}

struct PlacementsRun {
    spec: PlaceRunSettings,
    map: SmtMap,
    bench: Option<Workbench>,
    policies: Vec<PolicyName>,
    left_out: Vec<PlacementLeftOut>,
    beside_own_kind: Interval,
    roots: Roots,
}

impl PlacementsRun {
    fn measure(&self, stop: &AtomicBool) -> Result<Exit, Fault> {
        let started_unix_s = unix_s();
        let machine = machine::read(&self.roots);
        let identity = run_folder::machine_identity(&machine);
        let mut folder = RunDir::create(&self.spec.out, "place", &self.spec, &identity)?;
        let path = run_folder::announce(&folder);
        let summary = self.run_trials(&mut folder, stop)?;
        let result = self.result(&summary, started_unix_s, machine);
        run_folder::publish(folder, summary.state(), &result)?;
        show(&result, self.spec.json)?;
        run_folder::tell_report(&path);
        match summary.end {
            End::Complete => Ok(Exit::Done),
            End::Cancelled => {
                say("stopped: the finished trials are in the report");
                Ok(Exit::Interrupted)
            }
            End::Aborted { label, error, .. } => {
                Err(Fault::environment(format!("run {label}: {error}")))
            }
        }
    }

    fn run_trials(
        &self,
        folder: &mut RunDir,
        stop: &AtomicBool,
    ) -> Result<Summary<RunCell, RunTrial>, Fault> {
        let journal = restore::folder(self.spec.journal.as_deref())?;
        let hints = super::read_hints(self.spec.hints.as_deref())?;
        let workload = self.bench.as_ref().map(|bench| &bench.workload);
        let mut plan = PlaceRunPlan {
            spec: &self.spec,
            policies: &self.policies,
            runs: Cores {
                map: &self.map,
                spec: &self.spec,
                polls: workload.map(|workload| (workload, self.spec.bs)),
                roots: &self.roots,
                journal: &journal,
                hints: &hints,
                clock: workload
                    .and_then(|workload| workload.site.time.real())
                    .unwrap_or_default(),
            },
        };
        let settings = Settings {
            trials: self.spec.trials,
            seed: self.spec.seed,
            all_trials: self.spec.all_trials,
            ..Settings::default()
        };
        Runner {
            settings: &settings,
            cancel: stop,
            clock: &SystemClock::default(),
            progress: trial_progress().as_mut(),
        }
        .run(&mut plan, folder)
    }

    fn result(
        &self,
        summary: &Summary<RunCell, RunTrial>,
        started_unix_s: u64,
        machine: Machine,
    ) -> PlaceRunResult {
        let bs = self.bench.as_ref().map(|_| self.spec.bs);
        PlaceRunResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s,
            complete: matches!(summary.end, End::Complete),
            machine,
            cores: self.map.cores() as u32,
            cpus: self.map.cpus() as u32,
            compute: self.spec.compute(),
            polling: self.spec.polling(),
            polls: self.polls(),
            target: self.bench.as_ref().map(|bench| bench.target.clone()),
            trials: self.spec.trials,
            trial_s: self.spec.trial.0 as f64 / 1e9,
            settle_s: self.spec.settle.0 as f64 / 1e9,
            seed: self.spec.seed,
            beside_own_kind: self.beside_own_kind,
            polling_alone: polling_alone(bs, summary),
            classes: classes(&self.spec, &self.policies, bs, summary),
            left_out: self.left_out.clone(),
            warnings: self.warnings(summary),
        }
    }

    fn polls(&self) -> PollTask {
        if let (None, Some(command)) = (&self.bench, &self.spec.polls) {
            return PollTask::Program(command.clone());
        }
        let engine = self.bench.as_ref().map(|b| b.workload.engine.to_string());
        PollTask::Engine {
            engine: engine.unwrap_or_default(),
            bs: self.spec.bs,
        }
    }

    fn warnings(&self, summary: &Summary<RunCell, RunTrial>) -> Vec<Warning> {
        let mut warnings = summary.warnings.clone();
        let (polling, cores) = (self.spec.polling(), self.map.cores() as u32);
        if polling > cores {
            warnings.push(Warning::new(
                "polling-tasks-share-cpus",
                format!("{polling} polling tasks on {cores} cores"),
                "in colocate and proposed some of them share a CPU, and an I/O may wait for another task's whole slice",
                "look at p99 and p99.9 of the polling tasks before using it",
            ));
        }
        warnings
    }
}

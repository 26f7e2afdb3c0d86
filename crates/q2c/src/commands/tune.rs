//! The command `q2c tune`.

mod over_jobs;
mod program;

use super::diff::RunLimits;
use crate::commands::{restore, run_folder};
use crate::output::{say, show};
use crate::progress::trial_progress;
use crate::workbench::{machine_for_target, make_scratch, open, target_name, tell_place};
use program::RecordedProgram;
use q2c_engine::EngineSpec;
use q2c_host::target::Scratch;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_result::tune::{SCHEMA, TuneResult};
use q2c_result::{CheckVerdict, DoctorReport, Exit, tune_jobs};
use q2c_run::run_dir::{PlanFault, RunDirError, read_checked_plan};
use q2c_run::{Identity, RunDir, RunState};
use q2c_sim::start_threads;
use q2c_study::LONG_RUN_S;
use q2c_tune::{ExpectedTrials, Tune, TuneSettings};
use q2c_workbench::calibrate::Store;
use q2c_workbench::workbench::Workbench;
use q2c_workbench::workload::Background;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &TuneSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    args.program.check().or_exit(Exit::Usage)?;
    start_threads().or_exit(Exit::Environment)?;
    if let Some(folder) = &args.resume {
        let plan: TuneSettings = read_checked_plan(folder).map_err(RunDirError::on_resume)?;
        let limits = run_limits(args, plan.jobs.len())?;
        let plan = plan.with_session(args);
        if plan.jobs.len() > 1 {
            return over_jobs::run(plan, None, Some(folder), &limits, stop);
        }
        let outcome = tune_job_count(plan, None, &TuneFolder::Existing(folder), None, stop)?;
        return end_tuned(outcome, &limits);
    }
    let program = program::record_or_read(args, stop)?;
    let settings = match &program {
        Some(recorded) => args.for_program(&recorded.program.copied),
        None => args.clone(),
    };
    start_run(settings, program, stop)
}

fn run_limits(args: &TuneSettings, job_counts: usize) -> Result<RunLimits<'_>, Fault> {
    let schema = match job_counts {
        0 | 1 => SCHEMA,
        _ => tune_jobs::SCHEMA,
    };
    RunLimits::new(&args.limits, schema)
}

/// Starts a new run. The settings already contain the workload of `program`, if there is one.
fn start_run(
    mut spec: TuneSettings,
    program: Option<RecordedProgram>,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let args = spec.clone();
    let limits = run_limits(&args, spec.jobs.len())?;
    let scratch = make_scratch(spec.workload.scratch, &spec.workload.run, stop)?;
    let target = target_name("tune", spec.workload.target.as_deref(), scratch.as_ref())?;
    let engine = spec.workload.engine.as_ref();
    spec.machine = machine_for_target(&spec.simulated, &target, engine)?;
    let own_rules = spec.own.policies().or_exit(Exit::Usage)?;
    spec.policy.extend(own_rules);
    let engine = EngineSpec::for_target(engine, &target);
    spec.workload.engine = Some(engine.or_exit(Exit::Usage)?);
    spec.workload.target = Some(target);
    spec.jobs.sort_unstable();
    PlanFault::check_unique("--bs", &spec.workload.bs)
        .and_then(|()| spec.check_pattern())
        .map_err(|fault| Fault::usage(format!("tune {fault}")))?;
    check_length(&spec)?;
    if spec.jobs.len() > 1 {
        return over_jobs::run(spec, scratch, None, &limits, stop);
    }
    let out = spec.workload.run.out.clone();
    let outcome = tune_job_count(spec, scratch, &TuneFolder::New(&out), program, stop)?;
    end_tuned(outcome, &limits)
}

/// Refuses long trials of the user's own rules without `--yes`: longer than [`LONG_RUN_S`], and
/// longer than those of all other methods.
fn check_length(spec: &TuneSettings) -> Result<(), Fault> {
    let ExpectedTrials { rules_s, others_s } = spec.expected_trials(spec.jobs.len());
    if spec.yes || rules_s <= LONG_RUN_S.max(others_s) {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "tune with {} of --policy and --rule: their trials would take about {}, all others at most {}; name \
         fewer, give them shorter periods (a trial waits for two of them), or say --yes",
        match spec.policy.len() {
            1 => "the rule".to_owned(),
            n => format!("{n} rules"),
        },
        Nanos::from_secs_f64(rules_s),
        Nanos::from_secs_f64(others_s)
    )))
}

fn end_tuned(tuned: TuneOutcome, limits: &RunLimits<'_>) -> Result<Exit, Fault> {
    let show = |(result, state)| show(&result, tuned.json).map(|_| (result, state));
    match tuned.outcome.and_then(show) {
        Ok((result, state)) => {
            run_folder::tell_report(&tuned.folder);
            let exit = run_folder::end_run(state, tuned.bench, &tuned.folder);
            limits.judge(exit, &tuned.folder, &result)
        }
        Err(failure) => {
            run_folder::keep_for_resume(tuned.bench, &tuned.folder);
            Err(failure)
        }
    }
}

/// The store of calibrations: `$XDG_CACHE_HOME/q2c/calibration`, else
/// `$HOME/.cache/q2c/calibration`. `None` if neither is set. Only absolute paths count.
pub(crate) fn calibration_store() -> Option<Store> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME");
    let cache = cache.or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(Store::new(&cache.join("q2c/calibration")))
}

enum TuneFolder<'a> {
    /// A new run folder in this folder for runs.
    New(&'a Path),
    /// A new folder with this name inside the run folder of several numbers of jobs.
    Part(&'a RunDir, String),
    Existing(&'a Path),
}

impl TuneFolder<'_> {
    fn open(&self, spec: &TuneSettings, identity: &Identity) -> Result<RunDir, Fault> {
        match self {
            TuneFolder::New(runs) => Ok(RunDir::create(runs, "tune", spec, identity)?),
            TuneFolder::Part(run, name) => Ok(run.create_part(name, spec, identity)?),
            TuneFolder::Existing(path) => run_folder::resume(path, identity),
        }
    }
}

struct TuneOutcome {
    /// The result, which is also in the folder, and the state of the run; or the fault.
    pub outcome: Result<(TuneResult, RunState), Fault>,
    pub bench: Workbench,
    pub json: bool,
    pub folder: PathBuf,
}

/// Tunes with one number of jobs, and writes result and page into the folder that `place` names. An
/// error means that there is no folder. With a `program` the folder gets its recording.
fn tune_job_count(
    mut spec: TuneSettings,
    scratch: Option<Scratch>,
    place: &TuneFolder<'_>,
    program: Option<RecordedProgram>,
    stop: &AtomicBool,
) -> Result<TuneOutcome, Fault> {
    let resumed = matches!(place, TuneFolder::Existing(_));
    let bench = open(&spec.request(), scratch, stop);
    let mut bench = bench.map_err(|failure| if resumed { failure.for_plan() } else { failure })?;
    if spec.workload.scratch.is_some() {
        bench.mark_scratch();
    }
    tell_place(&bench);
    if bench.workload.site.time.world().is_none() {
        say(&doctor_in_a_line(&bench.doctor));
    }
    let identity = bench.identity(&bench.workload.cpus, &run_folder::program_version());
    if !resumed {
        // The CPUs and the background that q2c chose become part of the plan. Otherwise a later
        // session could choose others.
        spec.workload.cpus = bench.workload.cpus.iter().map(|cpu| cpu.0).collect();
        let background = bench.workload.background.iter().cloned();
        spec.workload.background = background.map(|job| Background(vec![job])).collect();
    }
    let folder = place.open(&spec, &identity)?;
    let path = run_folder::announce(&folder);
    if let Some(program) = program {
        program.copy_into(&folder)?;
    }
    Ok(TuneOutcome {
        outcome: tune_in_folder(folder, &spec, &bench, stop),
        json: spec.workload.run.json,
        bench,
        folder: path,
    })
}

fn tune_in_folder(
    mut folder: RunDir,
    spec: &TuneSettings,
    bench: &Workbench,
    stop: &AtomicBool,
) -> Result<(TuneResult, RunState), Fault> {
    let floor = run_folder::measure_floor(&bench.workload.site.time, bench.workload.cpus[0])?;
    // Simulated costs come from the plan's machine, never from the store.
    let store = calibration_store().filter(|_| spec.machine.is_none());
    let restore_dir = restore::folder(None).ok();
    let tune = Tune {
        spec,
        workload: &bench.workload,
        machine: &bench.machine,
        target: &bench.target,
        calibration_target: &bench.calibration_target,
        doctor: &bench.doctor,
        store: store.as_ref(),
        restore_dir: restore_dir.as_deref(),
        harness_floor_ns: floor.recorded_ns,
        harness_bare_ns: floor.bare_ns,
        stop,
    };
    let (result, state) = tune.run(&mut folder, trial_progress().as_mut())?;
    run_folder::publish(folder, state, &result)?;
    Ok((result, state))
}

fn doctor_in_a_line(report: &DoctorReport) -> String {
    use CheckVerdict::{Invalidates, Pass, Unknown, Warn};
    let ids_with = |verdict| -> Vec<&str> {
        let checks = report.checks.iter().filter(move |c| c.verdict == verdict);
        checks.map(|c| c.id.as_str()).collect()
    };
    let mut phrases = format!("{} pass", ids_with(Pass).len());
    for (verdict, meaning) in [
        (Warn, "warn"),
        (Invalidates, "invalidate or rule out something"),
        (Unknown, "could not be read"),
    ] {
        let ids = ids_with(verdict);
        if !ids.is_empty() {
            phrases += &format!(", {} {meaning} ({})", ids.len(), ids.join(", "));
        }
    }
    format!("doctor: {phrases}; `q2c doctor` tells what they mean")
}

//! The command `q2c tune`.

mod one;
mod over_jobs;
mod program;

use super::limits::RunLimits;
use super::run_folder;
use crate::output::show;
use crate::workbench::{machine, scratch, target};
use one::{TuneFolder, TuneJob, TuneOutcome};
use program::RecordedProgram;
use q2c_engine::EngineSpec;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_result::Exit;
use q2c_result::tune::SCHEMA;
use q2c_result::tune_jobs;
use q2c_run::run_dir::{PlanFault, RunDirError, read_checked_plan};
use q2c_sim::start_threads;
use q2c_study::LONG_S;
use q2c_tune::{ExpectedTrials, TuneSettings};
use q2c_workbench::calibrate::Store;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &TuneSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    args.program.check().or_exit(Exit::Usage)?;
    start_threads().or_exit(Exit::Environment)?;
    if let Some(folder) = &args.resume {
        let plan: TuneSettings = read_checked_plan(folder).map_err(RunDirError::on_resume)?;
        let limits = limits(args, plan.jobs.len())?;
        let plan = plan.resumed_by(args);
        if plan.jobs.len() > 1 {
            return over_jobs::resume(folder, plan, &limits, stop);
        }
        return tuned(one::tune(TuneJob::resumed(plan, folder), stop)?, &limits);
    }
    let program = program::recorded(args, stop)?;
    let settings = match &program {
        Some(recorded) => args.for_program(&recorded.program.copied),
        None => args.clone(),
    };
    begin(settings, program, stop)
}

fn limits(args: &TuneSettings, numbers: usize) -> Result<RunLimits<'_>, Fault> {
    let schema = match numbers {
        0 | 1 => SCHEMA,
        _ => tune_jobs::SCHEMA,
    };
    RunLimits::new(&args.limits, schema)
}

/// Begins a new run. The workload of `program`, if there is one, is in the settings already.
fn begin(
    mut spec: TuneSettings,
    program: Option<RecordedProgram>,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let judged = spec.clone();
    let limits = limits(&judged, spec.jobs.len())?;
    let scratch = scratch(spec.workload.scratch, &spec.workload.run, stop)?;
    let target = target("tune", spec.workload.target.as_deref(), scratch.as_ref())?;
    let engine = spec.workload.engine.as_ref();
    spec.machine = machine(&spec.simulated, &target, engine)?;
    spec.policy
        .extend(spec.own.policies().or_exit(Exit::Usage)?);
    let engine = EngineSpec::for_target(engine, &target);
    spec.workload.engine = Some(engine.or_exit(Exit::Usage)?);
    spec.workload.target = Some(target);
    spec.jobs.sort_unstable();
    PlanFault::each_once("--bs", &spec.workload.bs)
        .map_err(|fault| Fault::new(Exit::Usage, format!("tune {fault}")))?;
    worth_it(&spec)?;
    if spec.jobs.len() > 1 {
        return over_jobs::begin(spec, scratch, &limits, stop);
    }
    let out = spec.workload.run.out.clone();
    let job = TuneJob {
        spec,
        scratch,
        place: TuneFolder::New(&out),
        program,
    };
    tuned(one::tune(job, stop)?, &limits)
}

/// Refuses without `--yes` rules of the user's own whose trials take longer than [`LONG_S`], and
/// longer than those of all other methods.
fn worth_it(spec: &TuneSettings) -> Result<(), Fault> {
    let ExpectedTrials { own_s, others_s } = spec.expected_trials(spec.jobs.len());
    if spec.yes || own_s <= LONG_S.max(others_s) {
        return Ok(());
    }
    let message = format!(
        "tune with {} of --policy and --rule: their trials would take about {}, all others at most {}; name \
         fewer, give them shorter periods (a trial waits for two of them), or say --yes",
        match spec.policy.len() {
            1 => "the rule".to_owned(),
            n => format!("{n} rules"),
        },
        Nanos::from_secs_f64(own_s),
        Nanos::from_secs_f64(others_s)
    );
    Err(Fault::new(Exit::Usage, message))
}

fn tuned(ran: TuneOutcome, limits: &RunLimits<'_>) -> Result<Exit, Fault> {
    let outcome = ran.outcome.and_then(|(result, state)| {
        show(&result, ran.json)?;
        run_folder::tell_report(&ran.folder);
        Ok((result, state))
    });
    match outcome {
        Ok((result, state)) => {
            let exit = run_folder::end(state, ran.bench, &ran.folder);
            limits.end(exit, &ran.folder, &result)
        }
        Err(failure) => {
            run_folder::keep_for_resume(ran.bench, &ran.folder);
            Err(failure)
        }
    }
}

/// The store of calibrations: `$XDG_CACHE_HOME/q2c/calibration`, else the same below
/// `$HOME/.cache`. `None` without both; only absolute paths count.
pub(crate) fn store() -> Option<Store> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(Store::new(&cache.join("q2c/calibration")))
}

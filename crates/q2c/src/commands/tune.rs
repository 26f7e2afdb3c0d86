//! The command `q2c tune`.

mod one;
mod over_jobs;
mod program;

use super::limits::Limits;
use super::run_folder;
use crate::args::TuneArgs;
use crate::failure::{Fails, Failure};
use crate::output::show;

use crate::requests::LONG_S;
use crate::requests::tune::{for_program, new_job, numbers_of_jobs};
use crate::requests::workload::{target, workload};
use crate::workbench::{machine, scratch};
use one::{Job, Place, Ran};
use program::Recorded;
use q2c_model::Nanos;
use q2c_result::Exit;
use q2c_result::tune::SCHEMA;
use q2c_result::tune_jobs;
use q2c_run::run_dir::{PlanFault, RunDirError, read_plan};
use q2c_sim::start_threads;
use q2c_tune::{ExpectedTrials, TuneSpec};
use q2c_workbench::calibrate::Store;
use q2c_workbench::workbench::WorkloadRequest;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Tunes: begins a new run, or goes on with an interrupted one.
pub fn run(args: &TuneArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    /// The field of a plan that tells whether it is one for several numbers of jobs.
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        jobs: Vec<u32>,
    }
    args.program.check()?;
    start_threads().or_exit(Exit::Environment)?;
    if let Some(folder) = &args.resume {
        let head: Head = read_plan(folder).map_err(RunDirError::on_resume)?;
        return match head.jobs.is_empty() {
            true => {
                let limits = Limits::new(&args.limits, SCHEMA)?;
                let ran = one::tune(one::resumed(folder, args)?, args, stop)?;
                tuned(ran, args, &limits)
            }
            false => {
                let limits = Limits::new(&args.limits, tune_jobs::SCHEMA)?;
                over_jobs::resume(folder, args, &limits, stop)
            }
        };
    }
    let program = program::recorded(args, stop)?;
    let with_workload = program
        .as_ref()
        .map(|of| for_program(args, &of.program.copied));
    begin(with_workload.as_ref().unwrap_or(args), program, stop)
}

/// Begins a new run. The workload of `program`, if there is one, is in the arguments already.
fn begin(args: &TuneArgs, program: Option<Recorded>, stop: &AtomicBool) -> Result<Exit, Failure> {
    let jobs = numbers_of_jobs(args);
    let limits = match jobs.len() {
        1 => Limits::new(&args.limits, SCHEMA)?,
        _ => Limits::new(&args.limits, tune_jobs::SCHEMA)?,
    };
    let scratch = scratch(args.workload.scratch, &args.workload.run, stop)?;
    let target = target("tune", args.workload.target.as_deref(), scratch.as_ref())?;
    let machine = machine(&args.machine, &target, args.workload.engine.as_ref())?;
    let spec = TuneSpec {
        machine,
        ..new_job(args, target)?
    };
    PlanFault::each_once("--bs", &spec.sizes)
        .map_err(|fault| Failure::new(Exit::Usage, format!("tune {fault}")))?;
    worth_it(args, &spec, jobs.len())?;
    if jobs.len() > 1 {
        return over_jobs::begin(jobs, spec, scratch, args, &limits, stop);
    }
    let job = Job {
        workload: WorkloadRequest {
            machine: spec.machine.clone(),
            ..workload(&args.workload, jobs[0], spec.target.clone())
        },
        spec,
        scratch,
        place: Place::New(&args.workload.run.out),
        program,
    };
    tuned(one::tune(job, args, stop)?, args, &limits)
}

/// Refuses without `--yes` rules of the user's own whose trials take longer than [`LONG_S`], and
/// longer than those of all other methods.
fn worth_it(args: &TuneArgs, spec: &TuneSpec, numbers: usize) -> Result<(), Failure> {
    let ExpectedTrials { own_s, others_s } = spec.expected_trials(numbers);
    if args.yes || own_s <= LONG_S.max(others_s) {
        return Ok(());
    }
    let why = format!(
        "tune with {} of --policy and --rule: their trials would take about {}, all others at most {}; name \
         fewer, give them shorter periods (a trial waits for two of them), or say --yes",
        match spec.rules.len() {
            1 => "the rule".to_owned(),
            n => format!("{n} rules"),
        },
        Nanos::from_secs_f64(own_s),
        Nanos::from_secs_f64(others_s)
    );
    Err(Failure::new(Exit::Usage, why))
}

/// Tells the result of a run of one number of jobs, and ends it.
fn tuned(ran: Ran, args: &TuneArgs, limits: &Limits<'_>) -> Result<Exit, Failure> {
    let told = ran.outcome.and_then(|(result, state)| {
        show(&result, args.workload.run.json)?;
        run_folder::tell_report(&ran.folder);
        Ok((result, state))
    });
    match told {
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
pub fn store() -> Option<Store> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(Store::new(&cache.join("q2c/calibration")))
}

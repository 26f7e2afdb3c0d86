//! The command `q2c tune`.

use super::run_folder;
use crate::args::TuneArgs;
use crate::commands::restore;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use crate::requests::tune::{new_job, stored_workload};
use crate::requests::workload::{target, workload};
use crate::workbench::{self, scratch};
use q2c_host::target::Scratch;
use q2c_result::tune::TuneResult;
use q2c_result::{DoctorReport, Exit, Verdict};
use q2c_run::run_dir::read_plan;
use q2c_run::{RunDir, RunState, runner};
use q2c_tune::{Tune, TuneSpec};
use q2c_workbench::calibrate::Store;
use q2c_workbench::workbench::WorkloadRequest;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const PLAN: &str = "plan.toml";

/// Tunes: begins a new run, or goes on with an interrupted one.
pub fn run(args: &TuneArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let TuneRun {
        mut spec,
        workload,
        scratch,
        folder,
    } = match &args.resume {
        Some(folder) => resumed(folder, args)?,
        None => new(args, stop)?,
    };
    let bench = workbench::open(&workload, scratch, stop)?;
    say(&doctor_in_a_line(&bench.doctor));
    let identity = bench.identity(&bench.workload.cpus, &run_folder::program());
    if folder.is_none() {
        // The CPUs and the background that q2c chose become part of the plan. Otherwise a later
        // session could choose others.
        spec.cpus = bench.workload.cpus.iter().map(|cpu| cpu.0).collect();
        spec.background = bench
            .workload
            .background
            .iter()
            .map(ToString::to_string)
            .collect();
    }
    let mut folder = match folder {
        Some(path) => run_folder::resumed(&path, &identity)?,
        None => RunDir::create(&args.workload.run.out, "tune", &spec, &identity)
            .or_exit(Exit::Device)?,
    };
    say(&format!("run folder {}", folder.path().display()));
    let floor = run_folder::floor(bench.workload.clock, bench.workload.cpus[0])?;
    let store = store();
    let restore_dir = restore::folder(None).ok();
    let tune = Tune {
        spec: &spec,
        workload: &bench.workload,
        machine: &bench.machine,
        target: &bench.target,
        calibration_target: &bench.calibration_target,
        doctor: &bench.doctor,
        store: store.as_ref(),
        recalibrate: args.recalibrate,
        restore_dir: restore_dir.as_deref(),
        harness_floor_ns: floor.recorded_ns,
        harness_bare_ns: floor.bare_ns,
        stop,
    };
    let mut progress = runner::progress::on_stderr();
    let tuned = tune.run(&mut folder, progress.as_mut());
    let (result, state) = match tuned {
        Ok(done) => done,
        Err(error) => {
            run_folder::keep_for_resume(bench, folder.path());
            return Err(Failure::new(error.exit(), error));
        }
    };
    let path = folder.path().to_owned();
    if let Err(failure) = conclude(&result, folder, state, args.workload.run.json) {
        run_folder::keep_for_resume(bench, &path);
        return Err(failure);
    }
    Ok(run_folder::end(state, bench, &path))
}

/// How many checks passed, and the names of those that did not.
fn doctor_in_a_line(report: &DoctorReport) -> String {
    let of = |verdict: Verdict| {
        let checks = report.checks.iter().filter(move |c| c.verdict == verdict);
        checks.map(|c| c.id.as_str()).collect::<Vec<_>>()
    };
    let told = |verdict, words: &str| {
        let ids = of(verdict);
        (!ids.is_empty()).then(|| format!("{} {words} ({})", ids.len(), ids.join(", ")))
    };
    let rest = [
        told(Verdict::Warn, "warn"),
        told(Verdict::Invalidates, "invalidate or rule out something"),
        told(Verdict::Unknown, "could not be read"),
    ];
    let passed = format!("{} pass", of(Verdict::Pass).len());
    let parts: Vec<String> = std::iter::once(passed)
        .chain(rest.into_iter().flatten())
        .collect();
    format!(
        "doctor: {}; `q2c doctor` tells what they mean",
        parts.join(", ")
    )
}

/// A run that begins or goes on.
struct TuneRun {
    spec: TuneSpec,
    workload: WorkloadRequest,
    scratch: Option<Scratch>,
    /// The folder of the run that goes on; `None` for a new run.
    folder: Option<PathBuf>,
}

fn new(args: &TuneArgs, stop: &AtomicBool) -> Result<TuneRun, Failure> {
    let scratch = scratch(args.workload.scratch, &args.workload.run, stop)?;
    let target = target("tune", args.workload.target.as_deref(), scratch.as_ref())?;
    let spec = new_job(args, target)?;
    Ok(TuneRun {
        workload: workload(&args.workload, spec.target.clone()),
        spec,
        scratch,
        folder: None,
    })
}

/// Takes the job from the plan of the run in `folder`.
fn resumed(folder: &Path, args: &TuneArgs) -> Result<TuneRun, Failure> {
    let spec: TuneSpec = read_plan(folder).or_exit(Exit::Input)?;
    let workload = stored_workload(&spec, args).map_err(|field| {
        let why = format!("understand {field} in {}/{PLAN}", folder.display());
        Failure::new(Exit::Input, why)
    })?;
    Ok(TuneRun {
        spec,
        workload,
        scratch: None,
        folder: Some(folder.to_owned()),
    })
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

fn conclude(
    result: &TuneResult,
    folder: RunDir,
    state: RunState,
    json: bool,
) -> Result<(), Failure> {
    let path = folder.path().to_owned();
    let page = q2c_report::html::tune(result).or_exit(Exit::Internal)?;
    run_folder::publish(folder, state, result, &page)?;
    match json {
        true => print_json(result)?,
        false => print(&q2c_report::terminal::tune(result, screen()))?,
    }
    run_folder::tell_report(&path);
    Ok(())
}

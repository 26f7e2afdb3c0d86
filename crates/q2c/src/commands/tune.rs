//! The command `q2c tune`.

use super::session;
use crate::args::{RunArgs, TuneArgs, WorkloadArgs};
use crate::commands::restore;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use crate::workbench::{Workbench, engine, named, scratch};
use q2c_host::target::Scratch;
use q2c_result::tune::TuneResult;
use q2c_result::{DoctorReport, Exit, Verdict};
use q2c_run::run_dir::read_plan;
use q2c_run::{RunDir, RunState, runner};
use q2c_tune::{Tune, TuneSpec};
use q2c_workbench::calibrate::Store;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Lengths of a trial's parts and of the polled slices between them, seconds. They are short
/// against the drift of the device, and no multiples of the 10 ms in which CPU times are printed
/// (docs/journal/2026-11-22-verdicts.md).
const PART_S: f64 = 0.0613;
const SLICE_S: f64 = 0.0417;
/// Length of the first recording, in trials.
const RECORD_TRIALS: f64 = 2.0;
const PLAN: &str = "plan.toml";

/// Tunes: begins a new run, or goes on with an interrupted one.
pub fn run(args: &TuneArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let session = match &args.resume {
        Some(folder) => resumed(folder, args)?,
        None => fresh(args, stop)?,
    };
    let Session {
        mut spec,
        workload_args,
        scratch,
        folder,
    } = session;
    let bench = Workbench::open(&workload_args, &spec.target, scratch, stop)?;
    say(&doctor_in_a_line(&bench.doctor));
    let cpus: Vec<u32> = bench.workload.cpus.iter().map(|cpu| cpu.0).collect();
    let identity = session::identity(&bench, &cpus);
    if folder.is_none() {
        // The CPUs and the background that q2c chose become part of the plan. Otherwise a later
        // session could choose others.
        spec.cpus = cpus;
        spec.background = bench
            .workload
            .background
            .iter()
            .map(ToString::to_string)
            .collect();
    }
    let mut folder = match folder {
        Some(path) => session::resumed(&path, &identity)?,
        None => RunDir::create(&workload_args.run.out, "tune", &spec, &identity)
            .or_exit(Exit::Device)?,
    };
    say(&format!("run folder {}", folder.path().display()));
    let floor = session::floor(bench.workload.clock, bench.workload.cpus[0])?;
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
            session::keep_for_resume(bench, folder.path());
            return Err(Failure::new(error.exit(), error));
        }
    };
    let path = folder.path().to_owned();
    if let Err(failure) = conclude(&result, folder, state, args.workload.run.json) {
        session::keep_for_resume(bench, &path);
        return Err(failure);
    }
    Ok(session::end(state, bench, &path))
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

struct Session {
    spec: TuneSpec,
    workload_args: WorkloadArgs,
    scratch: Option<Scratch>,
    folder: Option<PathBuf>,
}

fn fresh(args: &TuneArgs, stop: &AtomicBool) -> Result<Session, Failure> {
    let scratch = scratch(&args.workload, stop)?;
    let target = named("tune", &args.workload, scratch.as_ref())?;
    Ok(Session {
        spec: spec(args, target)?,
        workload_args: args.workload.clone(),
        scratch,
        folder: None,
    })
}

/// Takes the job from the plan of the run in `folder`. What the command line says of the job does
/// not count.
fn resumed(folder: &Path, args: &TuneArgs) -> Result<Session, Failure> {
    let spec: TuneSpec = read_plan(folder).or_exit(Exit::Input)?;
    let bad = |what: &str| {
        Failure::new(
            Exit::Input,
            format!("understand {what} in {}/{PLAN}", folder.display()),
        )
    };
    let workload_args = WorkloadArgs {
        target: Some(spec.target.clone()),
        rw: spec.rw.parse().map_err(|_| bad("rw"))?,
        bs: spec.sizes.clone(),
        jobs: spec.cpus.len() as u32,
        cpu: spec.cpus.clone(),
        background: spec
            .background
            .iter()
            .map(|b| b.parse())
            .collect::<Result<_, _>>()
            .map_err(|_| bad("background"))?,
        engine: Some(spec.engine.parse().map_err(|_| bad("engine"))?),
        run: RunArgs {
            seed: spec.seed,
            ..args.workload.run.clone()
        },
        ..args.workload.clone()
    };
    Ok(Session {
        spec,
        workload_args,
        scratch: None,
        folder: Some(folder.to_owned()),
    })
}

fn spec(args: &TuneArgs, target: String) -> Result<TuneSpec, Failure> {
    let workload = &args.workload;
    let own = args.own.policies().or_exit(Exit::Usage)?;
    let limits = args.goal.limits();
    Ok(TuneSpec {
        engine: engine(workload, &target)?.to_string(),
        target,
        rw: workload.rw.to_string(),
        sizes: workload.bs.clone(),
        cpus: workload.cpu.clone(),
        background: workload
            .background
            .iter()
            .map(ToString::to_string)
            .collect(),
        rules: args
            .policy
            .iter()
            .chain(&own)
            .map(ToString::to_string)
            .collect(),
        seconds: args.seconds,
        part_seconds: PART_S,
        slice_seconds: SLICE_S,
        record_seconds: args.seconds * RECORD_TRIALS,
        trials: args.trials,
        objective: args.goal.objective.to_string(),
        min_iops: limits.min_iops.map(|min| min.to_string()),
        max_p99_ns: limits.max_p99_ns,
        max_cpu_pct: limits.max_cpu_pct,
        budget_s: args.budget.map(|b| b.as_secs_f64()),
        seed: workload.run.seed,
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
    session::publish(folder, state, result, &page)?;
    match json {
        true => print_json(result)?,
        false => print(&q2c_report::terminal::tune(result, screen()))?,
    }
    session::tell_report(&path);
    Ok(())
}

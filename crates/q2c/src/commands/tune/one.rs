//! A run of one number of jobs, alone or as a part of a run over several.

use super::program::RecordedProgram;
use crate::commands::{restore, run_folder};
use crate::output::say;
use crate::progress::of_trials;
use crate::workbench;
use q2c_host::target::Scratch;
use q2c_model::Fault;
use q2c_result::tune::TuneResult;
use q2c_result::{CheckVerdict, DoctorReport};
use q2c_run::{Identity, RunDir, RunState};
use q2c_tune::{Tune, TuneSettings};
use q2c_workbench::workbench::Workbench;
use q2c_workbench::workload::Background;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(super) struct TuneJob<'a> {
    pub spec: TuneSettings,
    pub scratch: Option<Scratch>,
    pub place: TuneFolder<'a>,
    pub program: Option<RecordedProgram>,
}

impl TuneJob<'_> {
    pub(super) fn resumed(spec: TuneSettings, folder: &Path) -> Self {
        TuneJob {
            spec,
            scratch: None,
            place: TuneFolder::Kept(folder.to_owned()),
            program: None,
        }
    }
}

pub(super) enum TuneFolder<'a> {
    /// A new one in this folder for runs.
    New(&'a Path),
    /// A new one of this name, within the folder of a larger run.
    Part(&'a RunDir, String),
    Kept(PathBuf),
}

impl TuneFolder<'_> {
    fn open(&self, spec: &TuneSettings, identity: &Identity) -> Result<RunDir, Fault> {
        match self {
            TuneFolder::New(runs) => {
                RunDir::create(runs, "tune", spec, identity).map_err(Fault::from)
            }
            TuneFolder::Part(whole, name) => {
                whole.create_part(name, spec, identity).map_err(Fault::from)
            }
            TuneFolder::Kept(path) => run_folder::resumed(path, identity),
        }
    }
}

pub(super) struct TuneOutcome {
    /// The result, which is in the folder, and the state of the run; or why there is none.
    pub outcome: Result<(TuneResult, RunState), Fault>,
    pub bench: Workbench,
    pub json: bool,
    pub folder: PathBuf,
}

/// Runs a job, and leaves result and page in its folder. The error is of a run that has no folder.
pub(super) fn tune(job: TuneJob<'_>, stop: &AtomicBool) -> Result<TuneOutcome, Fault> {
    let mut spec = job.spec;
    let kept = matches!(job.place, TuneFolder::Kept(_));
    let bench = workbench::open(&spec.request(), job.scratch, stop);
    let mut bench = bench.map_err(|failure| if kept { failure.of_plan() } else { failure })?;
    if spec.workload.scratch.is_some() {
        bench.on_scratch();
    }
    workbench::tell_place(&bench);
    if bench.workload.site.time.world().is_none() {
        say(&doctor_in_a_line(&bench.doctor));
    }
    let identity = bench.identity(&bench.workload.cpus, &run_folder::program());
    if !kept {
        // The CPUs and the background that q2c chose become part of the plan. Otherwise a later
        // session could choose others.
        spec.workload.cpus = bench.workload.cpus.iter().map(|cpu| cpu.0).collect();
        let background = bench.workload.background.iter();
        spec.workload.background = background
            .map(|job| Background(vec![job.clone()]))
            .collect();
    }
    let folder = job.place.open(&spec, &identity)?;
    let path = run_folder::announce(&folder);
    if let Some(program) = job.program {
        program.keep(&folder)?;
    }
    Ok(TuneOutcome {
        outcome: run_in(folder, &spec, &bench, stop),
        json: spec.workload.run.json,
        bench,
        folder: path,
    })
}

fn run_in(
    mut folder: RunDir,
    spec: &TuneSettings,
    bench: &Workbench,
    stop: &AtomicBool,
) -> Result<(TuneResult, RunState), Fault> {
    let floor = run_folder::floor(&bench.workload.site.time, bench.workload.cpus[0])?;
    // Simulated costs are those of the plan's machine, and none that were stored.
    let store = super::store().filter(|_| spec.machine.is_none());
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
    let mut progress = of_trials();
    let (result, state) = tune.run(&mut folder, progress.as_mut())?;
    run_folder::publish(folder, state, &result)?;
    Ok((result, state))
}

fn doctor_in_a_line(report: &DoctorReport) -> String {
    let ids_with = |verdict: CheckVerdict| {
        let checks = report.checks.iter().filter(move |c| c.verdict == verdict);
        checks.map(|c| c.id.as_str()).collect::<Vec<_>>()
    };
    let phrase = |verdict, meaning: &str| {
        let ids = ids_with(verdict);
        (!ids.is_empty()).then(|| format!("{} {meaning} ({})", ids.len(), ids.join(", ")))
    };
    let rest = [
        phrase(CheckVerdict::Warn, "warn"),
        phrase(
            CheckVerdict::Invalidates,
            "invalidate or rule out something",
        ),
        phrase(CheckVerdict::Unknown, "could not be read"),
    ];
    let mut parts = vec![format!("{} pass", ids_with(CheckVerdict::Pass).len())];
    parts.extend(rest.into_iter().flatten());
    format!(
        "doctor: {}; `q2c doctor` tells what they mean",
        parts.join(", ")
    )
}

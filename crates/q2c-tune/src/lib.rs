//! Runs `q2c tune`: calibrates, records classic polling, runs rounds of simulation and trials, and
//! makes the result.
//!
//! [`q2c_advice`] decides which rules are tried and which one wins; this crate runs the trials.
//!
//! Every live trial is cut into parts, with polled slices before, between and after them on the
//! same thread and ring. The prediction for a trial is made from these slices, never from the trial
//! itself. A prediction from the first recording is stored too. Its distance from the paired
//! prediction is the device's drift.

mod calibration;
mod cells;
mod conclude;
mod expected;
mod fidelity;
mod kernel;
mod late;
mod mode;
mod outcome;
mod plan;
pub mod program;
mod program_args;
mod record;
mod rounds;
mod settings;
mod simulated;
mod think;
mod timetable;
mod warn;

use cells::CellSpec;
pub use expected::ExpectedTrials;
use outcome::{Runs, TrialOutcome};
use program::compare;
pub use program_args::ProgramArgs;
use q2c_host::machine::host;
use q2c_model::{Exit, Fault};
use q2c_result::program::{FILE, Program};
use q2c_result::tune::TuneResult;
use q2c_result::{DoctorReport, Machine, Target};
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{Event, Progress, time_text};
use q2c_run::whole_file;
use q2c_workbench::calibrate::Store;
use q2c_workbench::workload::Workload;
use rounds::{SizeSearch, TrialRounds};
use serde::de::DeserializeOwned;
pub use settings::TuneSettings;
use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The inputs of a run: the plan, the workload and the machine.
pub struct Tune<'a> {
    /// The plan.
    pub spec: &'a TuneSettings,
    /// The workload to tune, with its target open. Its think time is in the plan.
    pub workload: &'a Workload,
    /// Facts of the machine, for the result and for the identity of calibrations.
    pub machine: &'a Machine,
    /// Facts of the target, for the result.
    pub target: &'a Target,
    /// Name of the target in the identity of stored calibrations.
    pub calibration_target: &'a str,
    /// The report of `q2c doctor`, for the result.
    pub doctor: &'a DoctorReport,
    /// The store of calibrations for later runs; `None` stores none.
    pub store: Option<&'a Store>,
    /// Folder of the journal of changed settings; without it no setting is changed.
    pub restore_dir: Option<&'a Path>,
    /// CPU time per I/O of the null engine while I/Os are recorded, ns.
    pub harness_floor_ns: f64,
    /// CPU time per I/O of the null engine while nothing is recorded, ns.
    pub harness_bare_ns: f64,
    /// Set to stop the run.
    pub stop: &'a AtomicBool,
}

/// File with the corrected calibration after the trials, which the report's sweep uses.
const CORRECTED_FILE: &str = "corrected.json";

impl Tune<'_> {
    /// Runs in `folder`, or continues an interrupted run of the same plan. The caller writes result
    /// and report, and finishes the folder with the returned state.
    ///
    /// # Errors
    /// A stage before the trials failed or was stopped, or the folder failed. A run that is stopped
    /// during its trials returns an incomplete result instead.
    pub fn run(
        &self,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<(TuneResult, q2c_run::RunState), Fault> {
        let begun = Instant::now();
        let mut warnings = Vec::new();
        let program = self.program(folder)?;
        let calibration = self.calibration(folder, &mut warnings, progress)?;
        let unavailable = kernel::unavailable(self, folder)?;
        if let Some(missing) = &unavailable {
            progress.event(&note(&format!("{}: {}", missing.method, missing.reason)));
        }
        let try_kernel = unavailable.is_none();
        let thinking = Workload {
            think: self.spec.think,
            ..self.workload.clone()
        };
        let tune = Tune {
            workload: &thinking,
            ..*self
        };
        let rounds = rounds::run(&tune, folder, &calibration, try_kernel, progress)?;
        let state = rounds.end.state();
        let mut corrected = calibration.clone();
        for (calibration, search) in corrected.iter_mut().zip(&rounds.searches) {
            calibration.cost = search.referee.cost();
        }
        folder.publish_json(CORRECTED_FILE, &corrected)?;
        self.discard_contradicted(&calibration, &rounds, &mut warnings, progress);
        let late = late::late_cells(&tune, folder, &rounds, progress)?;
        let data = conclude::TuneData {
            calibration,
            rounds,
            late,
            warnings,
            unavailable: unavailable.into_iter().collect(),
            provenance: folder.provenance(begun, host(&self.workload.site.roots)),
        };
        let mut result = conclude::conclude(&tune, data)?;
        let disk = self.target.device.as_ref().map(|disk| disk.name.as_str());
        result.program =
            program.map(|program| compare(&program, &result.cells, &result.recommendation, disk));
        Ok((result, state))
    }

    fn tell_length(&self, folder: &RunDir, calibrates: bool, progress: &mut dyn Progress) {
        if folder.record().sessions > 1 {
            return;
        }
        let calibration = if calibrates { "a calibration, " } else { "" };
        let length = time_text(self.spec.expected_s(calibrates));
        let most = self.spec.max_trials();
        progress.event(&note(&format!(
            "about {length} in all: {calibration}a recording and up to {most} trials for each block size"
        )));
    }

    /// The program that the workload copies, read from the run folder; `None` without one.
    fn program(&self, folder: &RunDir) -> Result<Option<Program>, Fault> {
        if !self.spec.copies_program {
            return Ok(None);
        }
        let stored = read_json(folder, FILE)?;
        stored.map(Some).ok_or_else(|| {
            let problem = "expected the program that the workload copies, found no file";
            broken_file(&folder.path().join(FILE), problem)
        })
    }
}

fn note(text: &str) -> Event {
    Event::Note(text.to_owned())
}

fn doing(text: &str) -> Event {
    Event::Doing(text.to_owned())
}

fn read_json<T: DeserializeOwned>(folder: &RunDir, name: &str) -> Result<Option<T>, Fault> {
    let path = folder.path().join(name);
    let text = match whole_file::read_text(&path, whole_file::MAX_SMALL) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| broken_file(&path, e))?,
    };
    serde_json::from_str(&text).map_err(|e| broken_file(&path, e))
}

fn broken_file(path: &Path, problem: impl Display) -> Fault {
    let file = path.display();
    let text = format!("read {file} of the run to be resumed: {problem}; start a new run instead");
    Fault::new(Exit::Input, text)
}

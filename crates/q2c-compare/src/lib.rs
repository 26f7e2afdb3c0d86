//! Trials of a trace replay: of one trace on one set of targets, or of several traces and modes on
//! several devices that are compared. Both are plans of the runner ([`q2c_run::runner`]). A cell is
//! a [`Variant`] on a [`TargetSet`], and trials of all cells take turns.
//!
//! The order of calls: a [`ReplayRequest`] says how to replay. [`TraceSource::open`] reads the
//! facts of the trace, [`OpenTargets`] opens and checks the targets, [`PreparedReplay::new`] makes
//! the plan, and [`ReplayRun::run`] runs the trials. [`replay()`] and [`compare()`] make results.

mod answer;
mod capture;
mod compare;
mod expected;
mod open_site;
mod precondition;
mod prepare;
mod profile;
mod request;
mod trace_source;
mod trial;
mod verdict;

pub use answer::{CommandStart, RunStart, read_machine, replay};
pub use capture::{Capture, capture_for};
pub use compare::{ComparedVariant, compare};
use itertools::Itertools;
pub use open_site::{DeviceMap, OpenTargets};
pub use precondition::Precondition;
pub use prepare::{PreparedReplay, PreparedVariant};
pub use profile::{ProfiledTrace, Profiler};
use q2c_capture::CapturedBy;
use q2c_engine::TimeSource;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::{Bytes, Fault, Nanos, TraceMeta};
use q2c_replay::ReplayFacts;
use q2c_result::replay::ReplayTrial;
use q2c_result::{Target, Warning};
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{
    CellError, CellPlan, Context, End, Plan, Progress, Runner, Settings, Summary, SystemClock,
    TRIALS_LEFT_OUT,
};
use q2c_trace::TraceWriter;
pub use request::{CaptureRequest, ModeName, ReplayRequest};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use trace_source::{SourceRequest, TraceSource};

/// A set of targets that the trace is replayed on.
#[derive(Clone, Debug, Default)]
pub struct TargetSet {
    /// Unique name among the sites, such as the path of the device.
    pub name: String,
    /// The targets. Each names the devices of the trace whose requests it takes.
    pub targets: Vec<q2c_replay::ReplayTarget>,
    /// Facts of each target for the result, in the order of `targets`.
    pub facts: Vec<Target>,
    /// The disks under the targets that can be captured.
    pub disks: Vec<Disk>,
}

/// One trace in one mode: a row of the table that a run fills.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// Unique name among the variants; empty when there is one.
    pub name: String,
    /// The plan; each trial replaces the targets by those of its site, and the seed by its own.
    pub plan: q2c_replay::ReplayPlan,
    /// Facts of the trace that is replayed, and its path.
    pub facts: &'a ReplayFacts,
    /// The sites on which it is replayed.
    pub sites: Vec<TargetSet>,
}

impl Variant<'_> {
    /// The runner's key for the cell that replays this variant on a site.
    pub fn key(&self, site: &TargetSet) -> String {
        match self.name.as_str() {
            "" => site.name.clone(),
            name => format!("{name} on {}", site.name),
        }
    }
}

/// The plan of a run of replay trials.
pub struct ReplayRun<'a> {
    /// The traces and modes; at least one.
    pub variants: &'a [Variant<'a>],
    /// Number of trials of each variant on each site.
    pub trials: u32,
    /// True if all trials run although the first ones are invalid for the same reason.
    pub all_trials: bool,
    /// Largest number of repeats of a trial in which the replayer was late by its own fault.
    pub repeats: u32,
    /// Keys of cells that stayed late through all repeats and get no more repeats; empty at first.
    pub stayed_late: BTreeSet<String>,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// CPUs busy with other work before the run, if more than on a quiet machine.
    pub busy_cpus: Option<f64>,
    /// The capture: `None` for none, `Some(None)` for the first means that works.
    pub capture: Option<Option<CapturedBy>>,
    /// How targets are written before each trial; `None` when they are not.
    pub precondition: Option<Precondition>,
    /// The trace file that gets every I/O of the replay. It can hold one trial on one site.
    pub record: Option<&'a Path>,
    /// Memory for the rows of the recording, bytes.
    pub memory: Bytes,
    /// Folder for the rows of the recording that do not fit into `memory`.
    pub spill: PathBuf,
    /// Root paths below which the machine's files are read.
    pub roots: Roots,
    /// The clock of all times.
    pub time: TimeSource,
    /// Ends the run early when it is set.
    pub stop: &'a AtomicBool,
    /// The stopped trial with its cell's key; [`ReplayRun::run`] sets it, so it starts as `None`.
    pub partial: Option<(String, ReplayTrial)>,
    /// The first error that kept a trial from running; empty at first.
    pub failed: OnceCell<Fault>,
}

/// The trials of a finished or stopped run.
pub struct ReplayTrials {
    /// The runner's cells with their trials, one cell for each variant and site.
    pub summary: Summary<String, ReplayTrial>,
    /// The trial that was stopped, with the key of its cell.
    pub partial: Option<(String, ReplayTrial)>,
    /// The first error in this session that kept a trial from running.
    pub failed: Option<Fault>,
}

impl ReplayTrials {
    /// The error that ended the run early; `None` if it was complete or stopped.
    pub fn abort_reason(&self) -> Option<String> {
        match &self.summary.end {
            End::Aborted { label, error, .. } => Some(format!("{label}: {error}")),
            _ => None,
        }
    }

    /// The warnings about trials that were left out because the first ones of a cell were invalid.
    pub(crate) fn left_out_warnings(&self) -> impl Iterator<Item = Warning> {
        let warnings = self.summary.warnings.iter();
        warnings.filter(|w| w.id == TRIALS_LEFT_OUT).cloned()
    }

    /// The trials of a cell as they ran, including the stopped one, and the reasons of failed ones.
    pub fn cell_outcomes(&self, cell: &str) -> (Vec<ReplayTrial>, Vec<String>) {
        let (mut trials, mut failures) = (Vec::new(), Vec::new());
        for runs in self.summary.cells.iter().filter(|c| c.plan.cell == cell) {
            trials.extend(runs.outcomes().cloned());
            failures.extend(runs.failures().map(str::to_owned));
        }
        let partial = self.partial.iter().filter(|(key, _)| key == cell);
        trials.extend(partial.map(|(_, trial)| trial.clone()));
        (trials, failures)
    }
}

impl ReplayRun<'_> {
    /// Runs the trials that the folder's journal does not have yet.
    pub fn run(
        mut self,
        seed: u64,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<ReplayTrials, Fault> {
        let settings = Settings {
            trials: self.trials,
            seed,
            all_trials: self.all_trials,
            ..Settings::default()
        };
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &SystemClock::default(),
            progress,
        };
        let summary = runner.run(&mut self, folder)?;
        Ok(ReplayTrials {
            summary,
            partial: self.partial,
            failed: self.failed.into_inner(),
        })
    }

    /// Runs one trial of the first variant on its first site, without a run folder. After a stop or
    /// a failed request, `whole` of the returned trial is false.
    ///
    /// # Errors
    /// Returns an error if the replay could not be run, or if there is no site.
    pub(crate) fn run_one_trial(&self) -> Result<ReplayTrial, CellError> {
        let (variant, site) = sites_of(self.variants).next().ok_or_else(unplanned_cell)?;
        self.trial(variant, site, variant.plan.seed)
    }

    fn trial(
        &self,
        variant: &Variant<'_>,
        site: &TargetSet,
        seed: u64,
    ) -> Result<ReplayTrial, CellError> {
        let plan = q2c_replay::ReplayPlan {
            targets: site.targets.clone(),
            seed,
            ..variant.plan.clone()
        };
        if let Some(precondition) = &self.precondition {
            let written = precondition.run(&site.targets, self.stop);
            written.map_err(|e| self.cell_error(e))?;
        }
        let running = match self.capture {
            Some(by) if !site.disks.is_empty() => {
                let capture = capture::ReplayCapture::start(&self.roots, &site.disks, by, &plan);
                Some(capture.map_err(|e| CellError::Cell(format!("failed to {e}")))?)
            }
            _ => None,
        };
        let outcome = self.replay(variant, &plan)?;
        let captured = running.map(capture::ReplayCapture::finish).transpose();
        let captured = captured.map_err(|e| CellError::Trial(format!("failed to {e}")))?;
        let stopped = self.stop.load(Ordering::Relaxed);
        let inputs = trial::TrialInputs {
            facts: variant.facts,
            plan: &plan,
            max_lateness: self.max_lateness,
            busy_cpus: self.busy_cpus,
        };
        Ok(trial::trial(&inputs, &outcome, captured, stopped))
    }

    fn replay(
        &self,
        variant: &Variant<'_>,
        plan: &q2c_replay::ReplayPlan,
    ) -> Result<q2c_replay::ReplayOutcome, CellError> {
        let read = AtomicU64::new(0);
        let replay = |to| q2c_replay::replay(plan, variant.facts, &self.time, to, &read, self.stop);
        let Some(path) = self.record else {
            return replay(None).map_err(|e| self.cell_error(e));
        };
        let failed = |e: q2c_trace::TraceError| self.cell_error(e);
        let name = variant.facts.path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let meta = TraceMeta {
            clock: self.time.name().to_owned(),
            source: "q2c replay".to_owned(),
            source_version: env!("CARGO_PKG_VERSION").to_owned(),
            file: Some(variant.sites.iter().map(|site| &site.name).join(", ")),
            facts: BTreeMap::from([("replayed".to_owned(), name)]),
            ..TraceMeta::default()
        };
        let mut writer = TraceWriter::create(path, meta).map_err(failed)?;
        let record_to = q2c_replay::RecordTo {
            sink: &mut writer,
            memory: self.memory,
            folder: &self.spill,
        };
        let outcome = replay(Some(record_to)).map_err(|e| self.cell_error(e))?;
        writer.meta_mut().lost = outcome.rows_lost;
        writer.finish().map_err(failed)?;
        Ok(outcome)
    }

    /// Makes an error that ends the whole cell: its next trial would fail too. Keeps the first one.
    fn cell_error(&self, error: impl Into<Fault>) -> CellError {
        let fault = error.into();
        let reason = format!("failed to {fault}");
        self.failed.set(fault).ok();
        CellError::Cell(reason)
    }
}

/// Each variant with each of its sites.
fn sites_of<'v>(
    variants: &'v [Variant<'v>],
) -> impl Iterator<Item = (&'v Variant<'v>, &'v TargetSet)> {
    let sites = |variant: &'v Variant<'v>| variant.sites.iter().map(move |s| (variant, s));
    variants.iter().flat_map(sites)
}

fn unplanned_cell() -> CellError {
    CellError::Cell("it is not in the plan".to_owned())
}

/// Says why a trial is repeated: its own lateness, while other work kept `busy_cpus` busy.
fn repeat_note(late_ns: f64, allowed: Nanos, busy_cpus: Option<f64>) -> String {
    let cause = busy_cpus.map_or("by its own fault".to_owned(), |cpus| {
        format!("({cpus:.2} CPUs were busy with other work before the run)")
    });
    format!(
        "repeated: the replayer was late {cause}: {} at the 99th percentile, where --max-lateness allows {allowed}",
        Nanos(late_ns as u64)
    )
}

impl Plan for ReplayRun<'_> {
    type Cell = String;
    type Outcome = ReplayTrial;
    const UNIT: &'static str = "s of U2C";
    const MAX_NUMBER: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<String>> {
        let cell = |(variant, site): (&Variant<'_>, &TargetSet)| {
            let key = variant.key(site);
            CellPlan {
                label: match variant.name.as_str() {
                    "" => format!("replay on {}", site.name),
                    _ => format!("replay of {key}"),
                },
                seconds: self.expected_trial_s(variant),
                cell: key.clone(),
                key,
            }
        };
        sites_of(self.variants).map(cell).collect()
    }

    fn metric(&self, trial: &ReplayTrial) -> f64 {
        trial.sum_u2c_s
    }

    fn invalid(&self, trial: &ReplayTrial) -> Option<String> {
        Some(<&str>::from(trial.invalid.first()?).to_owned())
    }

    fn run(
        &mut self,
        plan: &CellPlan<String>,
        context: &mut Context<'_>,
    ) -> Result<ReplayTrial, CellError> {
        let mut pairs = sites_of(self.variants);
        let pair = pairs.find(|(variant, site)| variant.key(site) == plan.cell);
        let (variant, site) = pair.ok_or_else(unplanned_cell)?;
        let seed = context.seed >> 2;
        let mut trial = self.trial(variant, site, seed)?;
        let stays_late = self.stayed_late.contains(&plan.cell);
        let repeats = if stays_late { 0 } else { self.repeats };
        for _ in 0..repeats {
            let late_ns = trial::sole_lateness_ns(&trial).filter(|_| !context.cancelled());
            let Some(late_ns) = late_ns else { break };
            let note = repeat_note(late_ns, self.max_lateness, self.busy_cpus);
            context.notes.push(note);
            trial = self.trial(variant, site, seed)?;
        }
        if trial::sole_lateness_ns(&trial).is_some() {
            self.stayed_late.insert(plan.cell.clone());
        }
        if context.cancelled() {
            self.partial = Some((plan.cell.clone(), trial));
            return Err(CellError::Cancelled);
        }
        Ok(trial)
    }
}

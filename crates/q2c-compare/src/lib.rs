//! Replays of a trace on one set of targets, or on several devices that are compared: both are plans of the runner.

mod answer;
mod capture;
mod compare;
mod precondition;
mod trial;
mod words;

pub use answer::{Asked, replay};
pub use compare::compare;
pub use precondition::Precondition;
pub use trial::median;

use q2c_capture::By;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::{Bytes, Nanos, TraceMeta};
use q2c_replay::{Facts, Mode, ReplayError};
use q2c_result::Target;
use q2c_result::replay::{ReplayTrial, reasons};
use q2c_run::run_dir::{RunDir, RunState};
use q2c_run::runner::{
    self, CellError, CellPlan, Context, End, Plan, Progress, Runner, Settings, Summary, SystemClock,
};
use q2c_sys::Clock;
use q2c_trace::TraceWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Where a trace is replayed: one cell of the runner.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name, such as the device's path; different from the others'.
    pub name: String,
    /// Targets, with the devices of the trace that each gets.
    pub targets: Vec<q2c_replay::Target>,
    /// Facts of each.
    pub facts: Vec<Target>,
    /// Disks behind them that can be captured.
    pub disks: Vec<Disk>,
}

/// Everything that a run stands on.
pub struct Replaying<'a> {
    /// How; its targets are those of the site.
    pub plan: q2c_replay::Plan,
    /// What.
    pub facts: &'a Facts,
    /// Where.
    pub sites: &'a [Site],
    /// Trials of each site.
    pub trials: u32,
    /// So often a trial is repeated in which the replayer was late by its own fault.
    pub repeats: u32,
    /// A lateness of the replayer's own above this at the 99th percentile makes a trial invalid.
    pub max_lateness: Nanos,
    /// The block layer is captured: by this, or by whatever is there.
    pub capture: Option<Option<By>>,
    /// Targets are written before each trial.
    pub precondition: Option<Precondition>,
    /// Every I/O is stored in this trace; for one site and one trial.
    pub record: Option<&'a Path>,
    /// Memory that a recording holds, and where the rest is kept.
    pub memory: Bytes,
    /// See above.
    pub spill: PathBuf,
    /// Where the machine is read.
    pub roots: Roots,
    /// The clock of all times.
    pub clock: Clock,
    /// Ends the run early.
    pub stop: &'a AtomicBool,
    /// What a trial that was stopped gave, by its site.
    pub partial: Option<(String, ReplayTrial)>,
}

/// What a run gave.
pub struct Ran {
    /// Trials by site.
    pub summary: Summary<String, ReplayTrial>,
    /// A trial that was stopped.
    pub partial: Option<(String, ReplayTrial)>,
}

impl Ran {
    /// The folder's state at the end.
    #[must_use]
    pub fn state(&self) -> RunState {
        self.summary.state()
    }

    /// Why it ended by itself before its end.
    #[must_use]
    pub fn aborted(&self) -> Option<String> {
        match &self.summary.end {
            End::Aborted { label, error, .. } => Some(format!("{label}: {error}")),
            _ => None,
        }
    }

    /// A site's trials in the order in which they ran, and reasons of those that failed.
    #[must_use]
    pub fn of(&self, site: &str) -> (Vec<ReplayTrial>, Vec<String>) {
        let runs = self
            .summary
            .cells
            .iter()
            .filter(|runs| runs.plan.cell == site);
        let mut trials: Vec<ReplayTrial> = Vec::new();
        let mut failures = Vec::new();
        for runs in runs {
            trials.extend(runs.outcomes().cloned());
            failures.extend(runs.failures().map(str::to_owned));
        }
        let partial = self.partial.iter().filter(|(name, _)| name == site);
        trials.extend(partial.map(|(_, trial)| trial.clone()));
        (trials, failures)
    }
}

impl Replaying<'_> {
    /// Runs what the folder's journal lacks.
    ///
    /// # Errors
    /// The runner or its folder failed.
    pub fn run(
        mut self,
        seed: u64,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<Ran, runner::RunError> {
        let settings = Settings {
            trials: self.trials,
            seed,
            ..Settings::default()
        };
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &SystemClock::default(),
            progress,
        };
        let summary = runner.run(&mut self, folder)?;
        Ok(Ran {
            summary,
            partial: self.partial,
        })
    }

    /// Length of one trial, seconds; where times do not count, on a device like the recorded one.
    #[must_use]
    pub fn expected_s(&self) -> f64 {
        let whole = self.facts.whole().as_secs_f64();
        match self.plan.mode {
            Mode::Timed { speed } => whole / speed,
            Mode::Outstanding {
                keep_idle: false, ..
            } => whole * (1.0 - self.facts.idle_share().unwrap_or(0.0)),
            _ => whole,
        }
    }

    /// One trial on a site.
    fn trial(&self, site: &Site) -> Result<ReplayTrial, CellError> {
        let plan = q2c_replay::Plan {
            targets: site.targets.clone(),
            ..self.plan.clone()
        };
        if let Some(precondition) = &self.precondition {
            precondition
                .run(&site.targets, self.stop)
                .map_err(|e| cell(&e))?;
        }
        let captured = match self.capture {
            Some(by) if !site.disks.is_empty() => {
                let capture = capture::Capture::begin(&self.roots, &site.disks, by, &plan);
                Some(capture.map_err(|e| CellError::Cell(format!("failed to {e}")))?)
            }
            _ => None,
        };
        let outcome = self.replay(&plan)?;
        let captured = captured.map(capture::Capture::end).transpose();
        let captured = captured.map_err(|e| CellError::Trial(format!("failed to {e}")))?;
        let stopped = self.stop.load(std::sync::atomic::Ordering::Relaxed);
        let asked = trial::Asked {
            facts: self.facts,
            plan: &plan,
            max_lateness: self.max_lateness,
        };
        Ok(trial::trial(&asked, &outcome, captured, stopped))
    }

    /// The replay, recorded where that is asked for.
    fn replay(&self, plan: &q2c_replay::Plan) -> Result<q2c_replay::Outcome, CellError> {
        let read = AtomicU64::new(0);
        let go = |into| q2c_replay::replay(plan, self.facts, self.clock, into, &read, self.stop);
        let Some(path) = self.record else {
            return go(None).map_err(|e| cell(&e));
        };
        let failed = |e: q2c_trace::TraceError| cell(&ReplayError::from(e));
        let mut writer = TraceWriter::create(path, words::recording(self)).map_err(failed)?;
        let into = q2c_replay::Into {
            sink: &mut writer,
            memory: self.memory,
            folder: &self.spill,
        };
        let outcome = go(Some(into)).map_err(|e| cell(&e))?;
        let meta: &mut TraceMeta = writer.meta_mut();
        meta.lost = outcome.rows_lost;
        writer.finish().map_err(failed)?;
        Ok(outcome)
    }
}

/// How far a replay's failure reaches: an engine that cannot be had, or a trace that lacks what is needed, lacks it again.
fn cell(error: &ReplayError) -> CellError {
    CellError::Cell(format!("failed to {error}"))
}

impl Plan for Replaying<'_> {
    type Cell = String;
    type Outcome = ReplayTrial;

    fn cells(&self) -> Vec<CellPlan<String>> {
        let cell = |site: &Site| CellPlan {
            key: site.name.clone(),
            label: format!("replay on {}", site.name),
            seconds: self.expected_s(),
            cell: site.name.clone(),
        };
        self.sites.iter().map(cell).collect()
    }

    fn metric(&self, trial: &ReplayTrial) -> f64 {
        trial.sum_u2c_s
    }

    fn run(
        &mut self,
        plan: &CellPlan<String>,
        context: &mut Context<'_>,
    ) -> Result<ReplayTrial, CellError> {
        let site = self.sites.iter().find(|site| site.name == plan.cell);
        let site = site.ok_or_else(|| CellError::Cell("it is not in the plan".to_owned()))?;
        self.plan.seed = context.seed >> 2;
        let mut trial = self.trial(site)?;
        for _ in 0..self.repeats {
            if context.cancelled() || !trial::only_late(&trial) {
                break;
            }
            context
                .notes
                .push(format!("repeated: {}", reasons(&trial.invalid)));
            trial = self.trial(site)?;
        }
        if context.cancelled() {
            self.partial = Some((site.name.clone(), trial));
            return Err(CellError::Cancelled);
        }
        Ok(trial)
    }
}

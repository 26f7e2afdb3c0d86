use super::precision::Precision;
use q2c_model::{Exit, Fault};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// An experiment: a list of cells and a way to run one trial of one cell. [The module](super)
/// states the contract.
pub trait Plan {
    /// The description of one cell, such as method, block size and threads. The journal keeps it.
    type Cell: Serialize + DeserializeOwned + Clone;
    /// The measurements of one trial. The journal keeps them.
    type Outcome: Serialize + DeserializeOwned;
    /// The unit of [`Plan::metric`], with its quantity: `IOPS`, `s of U2C`.
    const UNIT: &'static str;
    /// The largest number that an outcome can have; a journal with a larger one is refused. If it
    /// is finite, a negative metric is refused too. Infinite if any number is possible.
    const MAX_NUMBER: f64 = f64::INFINITY;

    /// Every cell of the plan. The runner asks once per session; the answer must be the same each
    /// time.
    fn cells(&self) -> Vec<CellPlan<Self::Cell>>;

    /// True if a journaled cell with this key belongs to this plan. Several plans may follow each
    /// other in one folder, each with keys of its own. The runner ignores the entries that the plan
    /// does not own.
    fn owns(&self, _key: &str) -> bool {
        true
    }

    /// The number by which precision is judged, in [`Plan::UNIT`]; NaN if an outcome has no number.
    fn metric(&self, outcome: &Self::Outcome) -> f64;

    /// Why the figures of a trial do not count, as a short kind such as `late`; `None` for a valid
    /// trial. A cell whose first trials are all invalid for one kind of reason is given up.
    fn invalid(&self, _outcome: &Self::Outcome) -> Option<String> {
        None
    }

    /// Runs one trial of `cell`.
    fn run(
        &mut self,
        cell: &CellPlan<Self::Cell>,
        context: &mut Context<'_>,
    ) -> Result<Self::Outcome, CellError>;
}

/// One cell of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan<C> {
    /// Name of the cell in the journal. It is unique in the plan and the same in every session.
    pub key: String,
    /// Name of the cell for people.
    pub label: String,
    /// Expected length of one trial with its preparation, seconds. The runner corrects it by the
    /// trials that have run.
    pub seconds: f64,
    /// The description of the cell, from which the plan runs it.
    pub cell: C,
}

/// A failure of a trial, by what it concerns: the trial, the cell or the run.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The trial saw the cancel flag and stopped. Nothing of the trial is kept.
    #[error("the trial was cancelled")]
    Cancelled,
    /// This trial failed. It is recorded as failed; other trials of the cell still run.
    #[error("{0}")]
    Trial(String),
    /// The cell cannot run here. This is recorded once; the other trials of the cell are left out.
    #[error("{0}")]
    Cell(String),
    /// The device or the machine failed, and the run stops. Nothing is recorded, so a resume tries
    /// the trial again.
    #[error("{0}")]
    Abort(Box<dyn Error + Send + Sync>),
}

/// The runner's input to a trial, and the place for the trial's remarks.
pub struct Context<'a> {
    /// Number of the trial within its cell, from 0.
    pub trial: u32,
    /// The seed of this trial alone. It is made from the run's seed, the cell's key and the trial's
    /// number, so it is the same in every session.
    pub seed: u64,
    /// Set when the run must stop.
    pub cancel: &'a AtomicBool,
    /// Remarks for log and terminal. The runner writes them after the trial, so that nothing is
    /// written during it.
    pub notes: Vec<String>,
}

impl Context<'_> {
    /// True if the run must stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// The clock of the runner. Tests use a clock of their own.
pub trait SessionClock {
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Time since 1970, UTC.
    fn unix(&self) -> Duration;
}

/// The system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock(Instant::now())
    }
}

impl SessionClock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
    fn unix(&self) -> Duration {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // This fails only for a clock set before 1970; the time then becomes 1970.
        since.unwrap_or_default()
    }
}

/// The settings of a run: number and order of trials, budget and precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Trials per cell, at least 1.
    pub trials: u32,
    /// Seed of the order of cells and of the seeds of the trials.
    pub seed: u64,
    /// Time limit for the whole run, all sessions together; `None` sets no limit.
    pub budget: Option<Duration>,
    /// Adds trials until each median is precise enough; `None` adds none.
    pub precision: Option<Precision>,
    /// True if a cell gets all its trials even when its first ones fail or are invalid.
    pub all_trials: bool,
}

/// Five trials, no budget, no precision. A cell is given up when its first trials are invalid.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            trials: 5,
            seed: 1,
            budget: None,
            precision: None,
            all_trials: false,
        }
    }
}

impl Settings {
    /// The largest number of trials that a cell can get.
    pub(crate) fn max_trials(&self) -> u32 {
        let more = self.precision.map_or(0, |p| p.max_trials);
        self.trials.max(more)
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let bad = |what: &str| Err(Fault::new(Exit::Device, format!("run the plan: {what}")));
        if self.trials == 0 {
            return bad("expected at least 1 trial per cell, found 0");
        }
        match self.precision {
            Some(p) if p.relative_width.is_nan() || p.relative_width <= 0.0 => {
                bad("expected a relative width above 0")
            }
            _ => Ok(()),
        }
    }
}

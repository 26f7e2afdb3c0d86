use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// An experiment: a list of cells and a way to run one trial of one cell. [The module](super)
/// states the contract.
pub trait Plan {
    /// The description of one cell, such as method, block size and threads. The journal keeps it.
    type Cell: Serialize + DeserializeOwned + Clone;
    /// The measurements of one trial. The journal keeps them.
    type Outcome: Serialize + DeserializeOwned;
    /// The unit of [`Plan::metric`], and what it is of: `IOPS`, `s of U2C`.
    const UNIT: &'static str;
    /// The largest number that an outcome can have, where no metric can be negative: a journal with
    /// others is refused. Infinite where any number is possible.
    const MOST: f64 = f64::INFINITY;

    /// Every cell of the plan. The runner asks once per session; the answer must be the same each
    /// time.
    fn cells(&self) -> Vec<CellPlan<Self::Cell>>;

    /// Whether a journaled cell of this key belongs to this plan. Several plans may follow each
    /// other in one folder, each with keys of its own. The runner ignores the entries that the plan
    /// does not own.
    fn owns(&self, _key: &str) -> bool {
        true
    }

    /// The number by which precision is judged, in [`Plan::UNIT`]; NaN for an outcome without one.
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
    /// The description of the cell, by which the plan knows how to run it.
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
    /// Set when the run is to stop.
    pub cancel: &'a AtomicBool,
    /// Remarks for log and terminal. The runner writes them after the trial, so that nothing is
    /// written during it.
    pub notes: Vec<String>,
}

impl Context<'_> {
    /// Whether the run is to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

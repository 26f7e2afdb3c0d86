//! What an experiment tells the runner.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// An experiment as cells and a way to run them; see the contract in [the module](super).
pub trait Plan {
    /// What one cell is: method, block size, threads.
    type Cell: Serialize + DeserializeOwned + Clone;
    /// What one trial of a cell gives.
    type Outcome: Serialize + DeserializeOwned;

    /// The cells.
    fn cells(&self) -> Vec<CellPlan<Self::Cell>>;

    /// Whether a journaled cell of this key belongs to this plan. Several plans may follow each other in one folder, each with keys of
    /// its own; each leaves the others' entries alone.
    fn owns(&self, _key: &str) -> bool {
        true
    }

    /// A cell to re-run now and then so that drift shows; it need not be one of [`Plan::cells`].
    fn sentinel(&self) -> Option<CellPlan<Self::Cell>> {
        None
    }

    /// The number by which drift and precision are judged, in any unit.
    fn metric(&self, outcome: &Self::Outcome) -> f64;

    /// Runs one trial.
    ///
    /// # Errors
    /// [`CellError`], which says how far the failure reaches.
    fn run(
        &mut self,
        cell: &CellPlan<Self::Cell>,
        context: &mut Context<'_>,
    ) -> Result<Self::Outcome, CellError>;
}

/// One cell of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan<C> {
    /// Stable name in the journal, unique in the plan.
    pub key: String,
    /// Name for people.
    pub label: String,
    /// Expected length of one trial, with its preparation. Corrected by what trials really take.
    pub seconds: f64,
    /// The cell.
    pub cell: C,
}

/// How far a failure reaches.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The trial saw the cancel flag and stopped; nothing of it is kept.
    #[error("the trial was cancelled")]
    Cancelled,
    /// This trial failed. It is recorded as failed; other trials of the cell still run.
    #[error("{0}")]
    Trial(String),
    /// The cell cannot run here. Recorded once; its other trials are left out.
    #[error("{0}")]
    Cell(String),
    /// The device or the machine failed: the run stops. Nothing is recorded, so a resume tries again.
    #[error("{0}")]
    Abort(Box<dyn Error + Send + Sync>),
}

/// What a trial is told, and where it leaves remarks.
pub struct Context<'a> {
    /// Number of the trial of this cell, from 0.
    pub trial: u32,
    /// Whether this is the sentinel.
    pub sentinel: bool,
    /// A seed of this trial's own, the same in every session, from the run's seed, the cell's key and the trial.
    pub seed: u64,
    /// Set when the run is to stop.
    pub cancel: &'a AtomicBool,
    /// Remarks for log and terminal, written after the trial so that nothing is written during it.
    pub notes: Vec<String>,
}

impl Context<'_> {
    /// Whether the run is to stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

use super::budget::TrialEstimate;
use super::entry::{Entry, Trial, TrialResult};
use super::plan::{CellPlan, Plan, Settings};
use q2c_model::{Exit, Fault, OrFault};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Number of first trials of a cell that decide whether the cell is given up.
pub(super) const FIRST_TRIALS: u32 = 2;

/// The plan's cells and every finished trial. The journal's entries fill it at the start of a
/// session. Each trial of the session is added once its line is on the disk.
pub(super) struct Ledger<C, O> {
    pub(super) cells: Vec<CellPlan<C>>,
    index: HashMap<String, usize>,
    /// Trials of each cell, in the plan's order, by the trial's number.
    pub(super) trials: Vec<BTreeMap<u32, Trial<O>>>,
    /// The kind of reason of each failed or invalid trial of each cell, by the trial's number.
    faults: Vec<BTreeMap<u32, String>>,
    /// See [`Settings::all_trials`].
    all_trials: bool,
    /// Length of all trials together, seconds.
    pub(super) spent_s: f64,
    pub(super) estimate: TrialEstimate,
}

impl<C: Serialize + Clone, O> Ledger<C, O> {
    pub(super) fn new<P: Plan<Cell = C, Outcome = O>>(
        plan: &P,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let cells = plan.cells();
        check_cells(&cells)?;
        let keys = cells.iter().map(|cell| cell.key.clone());
        Ok(Ledger {
            index: keys.zip(0..).collect(),
            trials: cells.iter().map(|_| BTreeMap::new()).collect(),
            faults: vec![BTreeMap::new(); cells.len()],
            all_trials: settings.all_trials,
            spent_s: 0.0,
            estimate: TrialEstimate::new(cells.iter().map(|cell| cell.seconds)),
            cells,
        })
    }

    /// Adds a journaled trial. An entry that does not fit the plan is refused. `invalid` is
    /// [`Plan::invalid`].
    pub(super) fn absorb(
        &mut self,
        entry: Entry<C, O>,
        invalid: impl Fn(&O) -> Option<String>,
    ) -> Result<(), Fault> {
        let cell = self.cell_of(&entry)?;
        self.check_same(cell, &entry)?;
        self.spent_s += entry.seconds;
        if entry.result.ok().is_some() {
            self.estimate.learn(cell, entry.seconds);
        }
        let trial = Trial {
            trial: entry.trial,
            session: entry.session,
            ended_unix_s: entry.ended_unix_s,
            seconds: entry.seconds,
            result: entry.result,
        };
        let fault = failure_kind(&trial.result, invalid);
        self.faults[cell].extend(fault.map(|fault| (trial.trial, fault)));
        self.trials[cell].insert(trial.trial, trial);
        Ok(())
    }

    fn cell_of(&self, entry: &Entry<C, O>) -> Result<usize, Fault> {
        match self.index.get(&entry.key) {
            None => Err(other_plan_fault(&entry.key, "is not in this plan")),
            Some(&cell) if self.is_done(cell, entry.trial) => {
                let reason = format!("has trial {} twice", entry.trial);
                Err(other_plan_fault(&entry.key, &reason))
            }
            Some(&cell) => Ok(cell),
        }
    }

    fn check_same(&self, cell: usize, entry: &Entry<C, O>) -> Result<(), Fault> {
        let json = |cell: &C| serde_json::to_string(cell).or_fault(Exit::Device, "run the plan");
        let (stored, planned) = (json(&entry.cell)?, json(&self.cells[cell].cell)?);
        let reason = || format!("was {stored}, is {planned} in this plan");
        let same = (stored == planned).then_some(());
        same.ok_or_else(|| other_plan_fault(&entry.key, &reason()))
    }

    pub(super) fn is_done(&self, cell: usize, trial: u32) -> bool {
        self.trials[cell].contains_key(&trial)
    }

    pub(super) fn finished(&self) -> u32 {
        self.trials.iter().map(|trials| trials.len() as u32).sum()
    }

    /// Why a cell cannot run here; `None` when no trial has found a reason.
    pub(super) fn impossible_reason(&self, cell: usize) -> Option<&str> {
        let mut trials = self.trials[cell].values();
        trials.find_map(|trial| trial.result.impossible_reason())
    }

    /// Why a cell gets no further trials: its first trials all failed or were invalid for the same
    /// kind of reason. `None` for a cell that continues, or cannot run at all.
    pub(super) fn give_up_reason(&self, cell: usize) -> Option<&str> {
        let kind = |trial: u32| self.faults[cell].get(&trial);
        let first = kind(0).filter(|_| !self.all_trials)?;
        let same = (1..FIRST_TRIALS).all(|trial| kind(trial) == Some(first));
        let result = self.trials[cell].get(&0).map(|trial| &trial.result);
        same.then_some(match result {
            Some(TrialResult::Failed(reason)) => reason.as_str(),
            _ => first.as_str(),
        })
    }

    /// How many of the first `trials` trials `cell` still has to run; 0 for a cell that cannot run
    /// or is given up.
    pub(super) fn missing(&self, cell: usize, trials: u32) -> u32 {
        match self.impossible_reason(cell).or(self.give_up_reason(cell)) {
            Some(_) => 0,
            None => self.not_run(cell, trials),
        }
    }

    /// How many of the first `trials` trials of `cell` have not been run.
    pub(super) fn not_run(&self, cell: usize, trials: u32) -> u32 {
        trials - self.trials[cell].range(..trials).count() as u32
    }

    /// True if any cell has finished its trial of this round.
    pub(super) fn has_begun(&self, round: u32) -> bool {
        self.trials.iter().any(|trials| trials.contains_key(&round))
    }
}

/// The kind of reason why a trial has no valid figure; `None` for a valid trial. A failure's kind
/// is its reason without digits, so that "late by 2.1 s" and "late by 3.4 s" count as the same.
pub(super) fn failure_kind<O>(
    result: &TrialResult<O>,
    invalid: impl Fn(&O) -> Option<String>,
) -> Option<String> {
    match result {
        TrialResult::Ok(outcome) => invalid(outcome),
        TrialResult::Failed(reason) => {
            Some(reason.chars().filter(|c| !c.is_ascii_digit()).collect())
        }
        TrialResult::Impossible(_) => None,
    }
}

/// The fault of a journal that belongs to other cells. `reason` says how the cell `key` differs.
fn other_plan_fault(key: &str, reason: &str) -> Fault {
    let text = format!(
        "resume: cell \"{key}\" in the journal {reason}; resume with the plan.toml of the run"
    );
    Fault::new(Exit::Input, text)
}

fn check_cells<C>(cells: &[CellPlan<C>]) -> Result<(), Fault> {
    let bad = |what: String| Err(Fault::new(Exit::Device, format!("run the plan: {what}")));
    let mut seen = HashMap::new();
    for cell in cells {
        if seen.insert(&cell.key, ()).is_some() {
            return bad(format!("expected unique keys, found {} twice", cell.key));
        }
    }
    let has_bad_estimate = |cell: &&CellPlan<C>| !(cell.seconds.is_finite() && cell.seconds >= 0.0);
    match cells.iter().find(has_bad_estimate) {
        Some(CellPlan { key, seconds, .. }) => bad(format!(
            "expected an estimate of 0 s or more for {key}, found {seconds}"
        )),
        None if cells.is_empty() => bad("expected at least one cell, found none".to_owned()),
        None => Ok(()),
    }
}

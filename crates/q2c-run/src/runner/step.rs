//! One step of a session: a trial of a cell or a run of the sentinel, from its announcement to its
//! line in the journal.

use super::entry::{Entry, Kind, TrialResult};
use super::error::RunError;
use super::estimate::Slot;
use super::event::{Event, Subject, TrialFacts};
use super::order::trial_seed;
use super::plan::{CellError, CellPlan, Context, Plan};
use super::sentinel::Drift;
use super::session::{Halt, Session};
use super::summary::End;
use std::sync::atomic::Ordering;

/// A trial's outcome, its length in seconds, and its notes.
type Ran<O> = (Result<O, CellError>, f64, Vec<String>);

impl<P: Plan> Session<'_, P> {
    pub(super) fn cell_trial(&mut self, cell: usize, trial: u32) -> Result<(), Halt> {
        self.step(Slot::Cell(cell), trial)
    }

    /// Runs the sentinel when it has not run in this session yet, or when enough trials have run
    /// since it did.
    pub(super) fn sentinel_if_due(&mut self) -> Result<(), Halt> {
        let every = self.settings.sentinel_every;
        let due = !self.sentinel_ran || (every > 0 && self.ledger.since_sentinel >= every);
        if due { self.sentinel() } else { Ok(()) }
    }

    /// Runs the sentinel when trials have run since its last run.
    pub(super) fn sentinel_at_end(&mut self) -> Result<(), Halt> {
        match self.ledger.since_sentinel {
            0 => Ok(()),
            _ => self.sentinel(),
        }
    }

    fn sentinel(&mut self) -> Result<(), Halt> {
        if !self.ledger.has_sentinel() {
            return Ok(());
        }
        self.step(Slot::Sentinel, self.ledger.sentinel.len() as u32)?;
        self.sentinel_ran = true;
        Ok(())
    }

    fn step(&mut self, slot: Slot, trial: u32) -> Result<(), Halt> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Halt::End(End::Cancelled));
        }
        let cell = self.ledger.plan_of(slot).clone();
        let subject = Subject {
            label: cell.label.clone(),
            trial,
            sentinel: slot == Slot::Sentinel,
        };
        self.tell(&Event::Begins(subject.clone(), self.position()))?;
        self.folder.flush_log()?;
        let (outcome, seconds, notes) = self.trial(&cell, &subject);
        // The trial is recorded before its notes are written, so that a full disk does not lose the
        // measurement.
        let recorded = sort_out(outcome, &subject)
            .and_then(|result| Ok(self.record(&cell, &subject, seconds, result)?));
        for note in notes {
            self.tell(&Event::Note(format!("{subject}: {note}")))?;
        }
        recorded?;
        self.report(slot, subject, seconds)
    }

    fn trial(&mut self, cell: &CellPlan<P::Cell>, subject: &Subject) -> Ran<P::Outcome> {
        let mut context = Context {
            trial: subject.trial,
            sentinel: subject.sentinel,
            seed: trial_seed(self.settings.seed, &cell.key, subject.trial),
            cancel: self.cancel,
            notes: Vec::new(),
        };
        let before = self.clock.monotonic();
        let outcome = self.plan.run(cell, &mut context);
        let seconds = (self.clock.monotonic() - before).as_secs_f64();
        (outcome, seconds, context.notes)
    }

    /// Writes the trial to the journal, then puts it into the ledger in the form in which a resume
    /// reads it.
    fn record(
        &mut self,
        cell: &CellPlan<P::Cell>,
        subject: &Subject,
        seconds: f64,
        result: TrialResult<P::Outcome>,
    ) -> Result<(), RunError> {
        let kind = match subject.sentinel {
            true => Kind::Sentinel,
            false => Kind::Cell,
        };
        let entry = Entry {
            kind,
            key: cell.key.clone(),
            trial: subject.trial,
            session: self.folder.record().sessions,
            ended_unix_s: self.clock.unix().as_secs_f64(),
            seconds,
            cell: cell.cell.clone(),
            result,
        };
        let entry = read_back(&entry)?;
        self.folder.append(&entry)?;
        let plan = &*self.plan;
        self.ledger.absorb(entry, |outcome| plan.invalid(outcome))
    }

    fn report(&mut self, slot: Slot, subject: Subject, seconds: f64) -> Result<(), Halt> {
        let trial = match slot {
            Slot::Cell(cell) => self.ledger.trials[cell].get(&subject.trial),
            Slot::Sentinel => self.ledger.sentinel.last(),
        };
        let position = self.position();
        let event = match trial.map(|trial| &trial.result) {
            Some(TrialResult::Ok(outcome)) => {
                let metric = self.plan.metric(outcome);
                let unit = P::UNIT;
                let facts = TrialFacts {
                    seconds,
                    metric,
                    unit,
                };
                Event::Done(subject, position, facts)
            }
            Some(TrialResult::Failed(reason) | TrialResult::Impossible(reason)) => {
                Event::Failed(subject, position, reason.clone())
            }
            None => unreachable!("the trial was recorded a moment ago"),
        };
        Ok(self.tell(&event)?)
    }

    /// The sentinel's drift so far; `None` without a sentinel.
    pub(super) fn drift(&self) -> Option<Drift> {
        self.ledger.sentinel_plan.as_ref()?;
        let metric = |outcome| self.plan.metric(outcome);
        let runs = self.ledger.sentinel.iter();
        let values: Vec<Option<f64>> = runs.map(|run| run.result.ok().map(metric)).collect();
        Some(Drift::of(&values))
    }
}

/// Separates the outcomes that are recorded from those that stop the run.
fn sort_out<O>(outcome: Result<O, CellError>, subject: &Subject) -> Result<TrialResult<O>, Halt> {
    match outcome {
        Ok(outcome) => Ok(TrialResult::Ok(outcome)),
        Err(CellError::Trial(reason)) => Ok(TrialResult::Failed(reason)),
        Err(CellError::Cell(reason)) => Ok(TrialResult::Impossible(reason)),
        Err(CellError::Cancelled) => Err(Halt::End(End::Cancelled)),
        Err(CellError::Abort(error)) => Err(Halt::End(End::Aborted {
            label: subject.label.clone(),
            trial: subject.trial,
            error,
        })),
    }
}

/// The entry as a resume would read it. An entry that does not survive JSON is an error.
fn read_back<C, O>(entry: &Entry<C, O>) -> Result<Entry<C, O>, RunError>
where
    C: serde::Serialize + serde::de::DeserializeOwned,
    O: serde::Serialize + serde::de::DeserializeOwned,
{
    let json = serde_json::to_string(entry);
    json.and_then(|json| serde_json::from_str(&json))
        .map_err(|e| RunError::Unreadable {
            key: entry.key.clone(),
            trial: entry.trial,
            reason: e.to_string(),
        })
}

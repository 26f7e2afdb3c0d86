use super::entry::{Entry, TrialResult};
use super::event::{Event, Subject, TrialFacts};
use super::order::trial_seed;
use super::plan::{CellError, CellPlan, Context, Plan};
use super::session::{Halt, Session};
use super::summary::End;
use q2c_model::{Exit, Fault};
use std::sync::atomic::Ordering;

/// A trial's outcome, its length in seconds, and its notes.
type TrialReturn<O> = (Result<O, CellError>, f64, Vec<String>);

impl<P: Plan> Session<'_, P> {
    pub(super) fn cell_trial(&mut self, cell: usize, trial: u32) -> Result<(), Halt> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Halt::End(End::Cancelled));
        }
        let planned = self.ledger.cells[cell].clone();
        let subject = Subject {
            label: planned.label.clone(),
            trial,
        };
        self.tell(&Event::Begins(subject.clone(), self.position()))?;
        self.folder.flush_log()?;
        let (outcome, seconds, notes) = self.trial(&planned, &subject);
        // The trial is recorded before its notes are written, so that a full disk does not lose the
        // measurement.
        let recorded = sort_out(outcome, &subject)
            .and_then(|result| Ok(self.record(&planned, &subject, seconds, result)?));
        for note in notes {
            self.tell(&Event::Note(format!("{subject}: {note}")))?;
        }
        recorded?;
        self.report(cell, subject, seconds)
    }

    fn trial(&mut self, cell: &CellPlan<P::Cell>, subject: &Subject) -> TrialReturn<P::Outcome> {
        let mut context = Context {
            trial: subject.trial,
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
    ) -> Result<(), Fault> {
        let entry = Entry {
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

    fn report(&mut self, cell: usize, subject: Subject, seconds: f64) -> Result<(), Halt> {
        let trial = self.ledger.trials[cell].get(&subject.trial);
        let position = self.position();
        let event = match trial.map(|trial| &trial.result) {
            Some(TrialResult::Ok(outcome)) => {
                let facts = TrialFacts {
                    seconds,
                    metric: self.plan.metric(outcome),
                    unit: P::UNIT,
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
fn read_back<C, O>(entry: &Entry<C, O>) -> Result<Entry<C, O>, Fault>
where
    C: serde::Serialize + serde::de::DeserializeOwned,
    O: serde::Serialize + serde::de::DeserializeOwned,
{
    let json = serde_json::to_string(entry);
    let back = json.and_then(|json| serde_json::from_str(&json));
    back.map_err(|error| {
        let (key, trial) = (&entry.key, entry.trial);
        let text =
            format!("record trial {trial} of {key}: its outcome does not survive JSON ({error})");
        Fault::new(Exit::Device, text).with_source(error)
    })
}

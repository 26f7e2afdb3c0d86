use super::entry::{End, Entry, TrialResult};
use super::event::{Event, Subject, TrialFacts};
use super::plan::{CellError, CellPlan, Context, Plan};
use super::session::{Halt, Session};
use q2c_model::stats::Rng;
use q2c_model::{Exit, Fault};
use std::sync::atomic::Ordering;

/// A trial's outcome, its length in seconds, and its notes.
type TrialReturn<O> = (Result<O, CellError>, f64, Vec<String>);

impl<P: Plan> Session<'_, P> {
    pub(super) fn run_trial(&mut self, cell: usize, trial: u32) -> Result<(), Halt> {
        if self.runner.cancel.load(Ordering::Relaxed) {
            return Err(Halt::End(End::Cancelled));
        }
        let planned = self.ledger.cells[cell].clone();
        let subject = Subject {
            label: planned.label.clone(),
            trial,
        };
        self.log_and_show(&Event::Begins(subject.clone(), self.position()))?;
        self.folder.flush_log()?;
        let (outcome, seconds, notes) = self.measure(&planned, &subject);
        // The trial is recorded before its notes are written, so that a full disk does not lose the
        // measurement.
        let recorded = recordable(outcome, &subject)
            .and_then(|result| Ok(self.record(&planned, &subject, seconds, result)?));
        for note in notes {
            self.log_and_show(&Event::Note(format!("{subject}: {note}")))?;
        }
        recorded?;
        self.report(cell, subject, seconds)
    }

    fn measure(&mut self, cell: &CellPlan<P::Cell>, subject: &Subject) -> TrialReturn<P::Outcome> {
        let mut context = Context {
            trial: subject.trial,
            seed: trial_seed(self.runner.settings.seed, &cell.key, subject.trial),
            cancel: self.runner.cancel,
            notes: Vec::new(),
        };
        let before = self.runner.clock.monotonic();
        let outcome = self.plan.run(cell, &mut context);
        let seconds = (self.runner.clock.monotonic() - before).as_secs_f64();
        (outcome, seconds, context.notes)
    }

    /// Writes the trial to the journal, then adds it to the ledger in the form that a resume would
    /// read.
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
            ended_unix_s: self.runner.clock.unix().as_secs_f64(),
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
        Ok(self.log_and_show(&event)?)
    }
}

/// Separates the outcomes that are recorded from the errors that stop the run.
fn recordable<O>(outcome: Result<O, CellError>, subject: &Subject) -> Result<TrialResult<O>, Halt> {
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

/// An endless sequence of shuffled rounds, which depends only on the seed and the number of cells.
pub(super) struct CellOrder {
    rng: Rng,
    cells: usize,
}

impl CellOrder {
    pub(super) fn new(seed: u64, cells: usize) -> Self {
        let rng = Rng::new(seed);
        CellOrder { rng, cells }
    }

    /// The index of every cell, once, in the order of the next round.
    pub(super) fn next_round(&mut self) -> Vec<usize> {
        let mut round: Vec<usize> = (0..self.cells).collect();
        self.rng.shuffle(&mut round);
        round
    }
}

/// The seed of one trial: the FNV-1a hash of the cell's key, mixed with the run's seed and the
/// trial's number by seeding the generator.
pub(super) fn trial_seed(seed: u64, key: &str, trial: u32) -> u64 {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let cell_seed = Rng::new(seed ^ hash).next_u64();
    Rng::new(cell_seed ^ u64::from(trial)).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_differ_by_run_key_and_trial() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for key in ["a", "b", "ab", "ba", ""] {
                seen.extend((0..10).map(|trial| trial_seed(seed, key, trial)));
            }
        }
        assert_eq!(seen.len(), 10 * 5 * 10);
    }

    #[test]
    fn first_places_are_even() {
        let mut order = CellOrder::new(3, 4);
        let mut first = [0u32; 4];
        (0..40_000).for_each(|_| first[order.next_round()[0]] += 1);
        // 10,000 each are expected, with a standard deviation of 87.
        let expected = 9_600..10_400;
        assert!(first.iter().all(|n| expected.contains(n)), "{first:?}");
    }

    proptest::proptest! {
        #[test]
        fn rounds_are_permutations_and_reproducible(seed: u64, cells in 0usize..40) {
            let (mut one, mut two) = (CellOrder::new(seed, cells), CellOrder::new(seed, cells));
            for _ in 0..5 {
                let round = one.next_round();
                proptest::prop_assert_eq!(&round, &two.next_round());
                let distinct: BTreeSet<usize> = round.iter().copied().collect();
                proptest::prop_assert_eq!(round.len(), cells);
                proptest::prop_assert_eq!(distinct, (0..cells).collect::<BTreeSet<_>>());
            }
        }
    }
}

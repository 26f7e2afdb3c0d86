use super::budget::forecast;
use super::entry::{End, Entry, Summary};
use super::event::Event;
use super::ledger::{FIRST_TRIALS, Ledger};
use super::plan::{Plan, SessionClock, Settings};
use super::progress::Progress;
use super::step::CellOrder;
use super::warnings;
use crate::run_dir::{RunDir, RunDirError, RunState};
use q2c_model::Fault;
use q2c_result::Warning;
use std::sync::atomic::AtomicBool;

/// Runs plans, with the same settings, clock and display for each of them.
pub struct Runner<'a> {
    /// Number and order of trials, budget and precision.
    pub settings: &'a Settings,
    /// A signal handler or another thread sets this to stop the run.
    pub cancel: &'a AtomicBool,
    /// The clock; tests bring one of their own.
    pub clock: &'a dyn SessionClock,
    /// The display of progress.
    pub progress: &'a mut dyn Progress,
}

/// The reason why a session stops before its last step.
pub(super) enum Halt {
    End(End),
    Error(Fault),
}

impl From<Fault> for Halt {
    fn from(error: Fault) -> Self {
        Halt::Error(error)
    }
}

impl From<RunDirError> for Halt {
    fn from(error: RunDirError) -> Self {
        Halt::Error(error.into())
    }
}

impl Runner<'_> {
    /// Runs every trial of `plan` that `folder`'s journal lacks. [The module](super) states the
    /// contract. After an error the finished trials stay in the journal.
    pub fn run<P: Plan>(
        &mut self,
        plan: &mut P,
        folder: &mut RunDir,
    ) -> Result<Summary<P::Cell, P::Outcome>, Fault> {
        self.settings.check()?;
        let mut ledger = Ledger::new(plan, self.settings)?;
        for entry in folder.entries_with_key::<Entry<_, _>>(|key| plan.owns(key))? {
            entry.check(|outcome| plan.metric(outcome), (P::UNIT, P::MAX_NUMBER))?;
            ledger.absorb(entry, |outcome| plan.invalid(outcome))?;
        }
        let session = Session {
            start_s: self.clock.monotonic().as_secs_f64(),
            spent_before_s: ledger.spent_s,
            round: 0,
            due: Vec::new(),
            warnings: Vec::new(),
            runner: Runner {
                progress: &mut *self.progress,
                ..*self
            },
            plan,
            folder,
            ledger,
        };
        session.run()
    }
}

/// A running session. `due` holds the cells of `round` that still lack their trial.
pub(super) struct Session<'a, P: Plan> {
    pub(super) runner: Runner<'a>,
    pub(super) plan: &'a mut P,
    pub(super) folder: &'a mut RunDir,
    pub(super) ledger: Ledger<P::Cell, P::Outcome>,
    /// The clock's time at the start of the session, and the time spent in trials of earlier
    /// sessions, both in seconds.
    pub(super) start_s: f64,
    pub(super) spent_before_s: f64,
    pub(super) round: u32,
    pub(super) due: Vec<usize>,
    pub(super) warnings: Vec<Warning>,
}

impl<P: Plan> Session<'_, P> {
    fn run(mut self) -> Result<Summary<P::Cell, P::Outcome>, Fault> {
        let forecast = forecast(&self.ledger, self.runner.settings, self.spent_before_s);
        self.log_and_show(&Event::Forecast(forecast))?;
        let end = match self.run_rounds() {
            Ok(()) => End::Complete,
            Err(Halt::End(end)) => end,
            Err(Halt::Error(error)) => return Err(error),
        };
        self.finish(end)
    }

    fn run_rounds(&mut self) -> Result<(), Halt> {
        let mut order = CellOrder::new(self.runner.settings.seed, self.ledger.cells.len());
        for round in 0..self.runner.settings.max_trials() {
            let cells = order.next_round().into_iter();
            let due = |&cell: &usize| self.wants(cell, round) && !self.ledger.is_done(cell, round);
            self.due = cells.filter(due).collect();
            self.round = round;
            let begun = self.ledger.has_begun(round);
            if !begun && (self.due.is_empty() || !self.affords_round()?) {
                break;
            }
            self.run_round()?;
        }
        self.due.clear();
        Ok(())
    }

    fn run_round(&mut self) -> Result<(), Halt> {
        while let Some(&cell) = self.due.first() {
            self.run_trial(cell, self.round)?;
            self.due.remove(0);
            self.note_given_up(cell)?;
        }
        Ok(())
    }

    /// Reports that `cell` gets no further trials, right after the trial that decided it.
    fn note_given_up(&mut self, cell: usize) -> Result<(), Fault> {
        let just_decided =
            self.round + 1 == FIRST_TRIALS && self.runner.settings.max_trials() > FIRST_TRIALS;
        let Some(reason) = self.ledger.give_up_reason(cell).filter(|_| just_decided) else {
            return Ok(());
        };
        let label = &self.ledger.cells[cell].label;
        let note = warnings::give_up_note(label, reason);
        self.log_and_show(&Event::Note(note))
    }

    /// True if `cell` needs a trial in `round`, judged by the trials so far.
    fn wants(&self, cell: usize, round: u32) -> bool {
        let ledger = &self.ledger;
        if ledger.impossible_reason(cell).is_some() || ledger.give_up_reason(cell).is_some() {
            return false;
        }
        round < self.runner.settings.trials
            || (round < self.runner.settings.max_trials() && self.is_imprecise(cell))
    }

    /// True if the median of `cell` is less certain than requested. A cell without a good trial is
    /// not imprecise, since more trials would not help it.
    fn is_imprecise(&self, cell: usize) -> bool {
        let trials = self.ledger.trials[cell].values();
        let outcomes = trials.filter_map(|trial| trial.result.ok());
        let values: Vec<f64> = outcomes.map(|outcome| self.plan.metric(outcome)).collect();
        let precision = self.runner.settings.precision;
        !values.is_empty() && precision.is_some_and(|p| !p.is_reached(&values))
    }

    pub(super) fn log_and_show(&mut self, event: &Event) -> Result<(), Fault> {
        self.folder.log(&event.to_string())?;
        self.runner.progress.event(event);
        Ok(())
    }

    fn finish(mut self, end: End) -> Result<Summary<P::Cell, P::Outcome>, Fault> {
        let over = warnings::over_budget(self.elapsed_s(), self.runner.settings);
        self.warnings.extend(over);
        let text = match &end {
            End::Complete => "all trials done".to_owned(),
            End::Cancelled => "cancelled; finished trials are kept".to_owned(),
            End::Aborted { label, error, .. } => format!("aborted in {label}: {error}"),
        };
        let position = self.position();
        self.log_and_show(&Event::Ended(text, position))?;
        if !matches!(end, End::Complete) {
            self.folder.mark(RunState::Interrupted)?;
        }
        self.warnings.extend(warnings::failed(&self.ledger));
        let given_up = warnings::given_up(&self.ledger, self.runner.settings);
        self.warnings.extend(given_up);
        self.warnings.extend(self.precision_warning());
        Ok(Summary::from_ledger(self.ledger, end, self.warnings))
    }

    fn precision_warning(&self) -> Option<Warning> {
        let precision = self.runner.settings.precision?;
        let cells = self.ledger.cells.iter().enumerate();
        let wide = cells.filter(|&(cell, _)| self.is_imprecise(cell));
        let labels: Vec<&str> = wide.map(|(_, cell)| cell.label.as_str()).collect();
        warnings::imprecise(&labels, precision)
    }
}

use super::budget::{cost, forecast};
use super::event::{Event, Position};
use super::plan::Plan;
use super::session::Session;
use super::warnings;
use q2c_model::Fault;

impl<P: Plan> Session<'_, P> {
    /// Whether the next round, of which no trial has run yet, fits the budget. The first round
    /// always does. A round that was asked for and is left out is logged and warned of; one that
    /// only precision wants is left out silently.
    pub(super) fn affords_round(&mut self) -> Result<bool, Fault> {
        let Some(budget) = self.settings.budget else {
            return Ok(true);
        };
        let counts = self.left.iter().map(|&cell| (cell, 1));
        let cost_s = cost(&self.ledger, counts);
        let over_s = self.elapsed_s() + cost_s - budget.as_secs_f64();
        if over_s <= 0.0 || self.round == 0 {
            return Ok(true);
        }
        if self.round < self.settings.trials {
            let all_s = self.elapsed_s() + self.cost_of_all_s();
            let missing_s = all_s - budget.as_secs_f64();
            let warning = warnings::cut(self.round, self.settings, missing_s);
            self.tell(&Event::Note(warning.found.clone()))?;
            self.warnings.push(warning);
        }
        Ok(false)
    }

    /// Expected seconds for every trial that was asked for and is still missing.
    fn cost_of_all_s(&self) -> f64 {
        let missing = |cell| self.ledger.missing(cell, self.settings.trials);
        let counts = (0..self.ledger.cells.len()).map(|cell| (cell, missing(cell)));
        cost(&self.ledger, counts)
    }

    /// Time that counts against the budget so far, seconds: the trials of earlier sessions and the
    /// whole of this session.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.spent_before_s + self.session_s()
    }

    fn session_s(&self) -> f64 {
        self.clock.monotonic().as_secs_f64() - self.start_s
    }

    /// Progress of the run, and the expected time to its end.
    pub(super) fn position(&self) -> Position {
        let planned = forecast(&self.ledger, self.settings, self.elapsed_s()).trials;
        let count = |cell: usize| {
            let extra = self.round >= planned && self.left.contains(&cell);
            self.ledger.missing(cell, planned)
                + u32::from(extra && !self.ledger.done(cell, self.round))
        };
        let counts: Vec<(usize, u32)> = (0..self.ledger.cells.len())
            .map(|c| (c, count(c)))
            .collect();
        let missing: u32 = counts.iter().map(|(_, count)| count).sum();
        Position {
            finished: self.ledger.finished(),
            total: self.ledger.finished() + missing,
            elapsed_s: self.session_s(),
            left_s: cost(&self.ledger, counts.into_iter()),
        }
    }
}

//! The expected length of a trial: the plan's guess at first, later the mean of the trials that
//! ran.

/// The cell that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A cell, by its index in the plan.
    Cell(usize),
    /// The sentinel.
    Sentinel,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    planned: f64,
    sum: f64,
    trials: u32,
}

impl Seen {
    fn mean(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.sum / f64::from(self.trials))
    }
}

/// Expected seconds per trial of each cell and of the sentinel.
pub(super) struct Estimate {
    cells: Vec<Seen>,
    sentinel: Seen,
    /// Sums over all that ran: the plan's guesses, and the means of what was seen. They are kept,
    /// as a plan may have very many cells and each asks for them.
    guessed: f64,
    took: f64,
}

impl Estimate {
    pub(super) fn new(cells: impl Iterator<Item = f64>, sentinel: f64) -> Self {
        let unseen = |planned| Seen {
            planned,
            ..Seen::default()
        };
        Estimate {
            cells: cells.map(unseen).collect(),
            sentinel: unseen(sentinel),
            guessed: 0.0,
            took: 0.0,
        }
    }

    /// Takes in the length of a trial that went well, seconds.
    pub(super) fn learn(&mut self, slot: Slot, seconds: f64) {
        let seen = match slot {
            Slot::Cell(cell) => &mut self.cells[cell],
            Slot::Sentinel => &mut self.sentinel,
        };
        match seen.mean() {
            Some(before) => self.took -= before,
            None => self.guessed += seen.planned,
        }
        seen.sum += seconds;
        seen.trials += 1;
        self.took += seen.mean().unwrap_or(0.0);
    }

    /// Expected seconds of a trial: the mean of those that ran. Before the first it is the plan's
    /// guess, times the ratio by which the other cells' guesses were wrong.
    pub(super) fn of(&self, slot: Slot) -> f64 {
        let seen = match slot {
            Slot::Cell(cell) => &self.cells[cell],
            Slot::Sentinel => &self.sentinel,
        };
        seen.mean()
            .unwrap_or_else(|| seen.planned * self.correction())
    }

    fn correction(&self) -> f64 {
        if self.guessed > 0.0 {
            self.took / self.guessed
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_corrects_what_was_not() {
        let mut estimate = Estimate::new([10.0, 20.0].into_iter(), 4.0);
        assert_eq!(estimate.of(Slot::Cell(1)), 20.0);
        estimate.learn(Slot::Cell(0), 14.0);
        estimate.learn(Slot::Cell(0), 16.0);
        assert_eq!(estimate.of(Slot::Cell(0)), 15.0);
        // Cell 0 took 1.5 times as long as its guess.
        assert_eq!(estimate.of(Slot::Cell(1)), 30.0);
        assert_eq!(estimate.of(Slot::Sentinel), 6.0);
        // 15 + 3 seconds were seen for 10 + 4 planned.
        estimate.learn(Slot::Sentinel, 3.0);
        assert_eq!(estimate.of(Slot::Cell(1)), 20.0 * 18.0 / 14.0);
    }
}

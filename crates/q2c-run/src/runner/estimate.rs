#[derive(Clone, Copy, Default)]
struct CellSeconds {
    planned: f64,
    sum: f64,
    trials: u32,
}

impl CellSeconds {
    fn mean(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.sum / f64::from(self.trials))
    }
}

/// Expected seconds per trial of each cell, by the cell's index in the plan.
pub(super) struct TrialEstimate {
    cells: Vec<CellSeconds>,
    /// Sums over all that ran: the plan's guesses, and the means of what was seen. They are kept,
    /// as a plan may have very many cells and each asks for them.
    guessed: f64,
    took: f64,
}

impl TrialEstimate {
    pub(super) fn new(cells: impl Iterator<Item = f64>) -> Self {
        let unseen = |planned| CellSeconds {
            planned,
            ..CellSeconds::default()
        };
        TrialEstimate {
            cells: cells.map(unseen).collect(),
            guessed: 0.0,
            took: 0.0,
        }
    }

    /// Takes in the length of a trial that went well, seconds.
    pub(super) fn learn(&mut self, cell: usize, seconds: f64) {
        let seen = &mut self.cells[cell];
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
    pub(super) fn trial_seconds(&self, cell: usize) -> f64 {
        let seen = &self.cells[cell];
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
        let mut estimate = TrialEstimate::new([10.0, 20.0, 4.0].into_iter());
        assert_eq!(estimate.trial_seconds(1), 20.0);
        estimate.learn(0, 14.0);
        estimate.learn(0, 16.0);
        assert_eq!(estimate.trial_seconds(0), 15.0);
        // Cell 0 took 1.5 times as long as its guess.
        assert_eq!(estimate.trial_seconds(1), 30.0);
        assert_eq!(estimate.trial_seconds(2), 6.0);
        // 15 + 3 seconds were seen for 10 + 4 planned.
        estimate.learn(2, 3.0);
        assert_eq!(estimate.trial_seconds(1), 20.0 * 18.0 / 14.0);
    }
}

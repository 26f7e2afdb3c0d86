//! The polling predictor: a saturating counter of two bits for each task.
//!
//! The published predictor counts calls of the block layer's poll function. One call is a turn of
//! the polling loop on some kernels and a whole I/O on others, so here a window of time takes the
//! place of a call: the counter goes up after a window in which the task polled and down after one
//! in which it did not. Everything else is as published: 0 to 3, 1 at fork, polling at 2 or more.

/// The kind that the predictor takes a task for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// C: it computes, or at least does not poll.
    #[default]
    Compute,
    /// P: it polls for I/O.
    Polling,
}

/// The counter of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predictor(u8);

const MAX_COUNT: u8 = 3;
const MIN_POLLING_COUNT: u8 = 2;

impl Default for Predictor {
    fn default() -> Self {
        Predictor(1)
    }
}

impl Predictor {
    /// Counts up after a window of time in which the task polled, else down.
    pub(crate) fn update(&mut self, polled: bool) {
        self.0 = if polled {
            (self.0 + 1).min(MAX_COUNT)
        } else {
            self.0.saturating_sub(1)
        };
    }

    /// True if further windows like this one change nothing.
    pub(crate) fn is_settled(self, polled: bool) -> bool {
        let mut next = self;
        next.update(polled);
        next == self
    }

    pub(crate) fn class(self) -> Class {
        if self.0 >= MIN_POLLING_COUNT {
            Class::Polling
        } else {
            Class::Compute
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(windows: &[bool]) -> Predictor {
        let mut predictor = Predictor::default();
        windows.iter().for_each(|polled| predictor.update(*polled));
        predictor
    }

    #[test]
    fn the_counter_saturates_and_starts_at_one() {
        use Class::{Compute, Polling};
        for (windows, class) in [
            ("", Compute),
            ("1", Polling),
            ("1110", Polling),
            ("11100", Compute),
            ("01", Compute),
            ("011", Polling),
        ] {
            let polled: Vec<bool> = windows.chars().map(|c| c == '1').collect();
            assert_eq!(after(&polled).class(), class, "{windows}");
        }
        assert_eq!(after(&[true; 9]).0, 3);
        assert_eq!(after(&[false; 9]).0, 0);
    }
}

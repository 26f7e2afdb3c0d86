//! Display of a run's progress. Nothing here writes to stdout, which is for results.

mod bar;
mod lines;

use super::event::Event;
use std::io::{IsTerminal, stderr};

pub use bar::BarProgress;
pub use lines::LineProgress;

/// A display of a run's progress.
pub trait Progress {
    /// Shows an event. The call must return quickly and leave no thread running, since a trial may
    /// be about to start.
    fn event(&mut self, event: &Event);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn event(&mut self, _: &Event) {}
}

/// Breaks a text into lines that fit the terminal.
pub type Fit = fn(String) -> String;

/// A bar when stderr is a terminal, with lines that `fit` makes of events, else plain lines on
/// stderr, at most one per second for trials that went well.
pub fn on_stderr(fit: Fit) -> Box<dyn Progress> {
    match stderr().is_terminal() {
        true => Box::new(BarProgress::on_stderr(fit)),
        false => Box::new(LineProgress::new(stderr(), 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use crate::runner::Subject;

    pub(super) fn polled(trial: u32) -> Subject {
        Subject {
            label: "4 KiB poll".to_owned(),
            trial,
        }
    }
}

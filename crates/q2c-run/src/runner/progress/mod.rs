//! Display of a run's progress. Nothing here writes to stdout, which is for results.

mod bar;
mod lines;

use super::event::Event;
pub(crate) use bar::BarProgress;
pub(crate) use lines::LineProgress;
use std::io::{IsTerminal, stderr};

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
pub type LineFitter = fn(String) -> String;

/// A bar when stderr is a terminal, with lines that `fit` makes of events, else plain lines on
/// stderr, at most one per second for trials that went well.
pub fn on_stderr(fit: LineFitter) -> Box<dyn Progress> {
    if stderr().is_terminal() {
        Box::new(BarProgress::on_stderr(fit))
    } else {
        Box::new(LineProgress::new(stderr(), 1.0))
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

//! Who watches a run. Nothing here writes to stdout: that is for results.

mod bar;
mod lines;

use super::event::Event;
use std::io::{IsTerminal, stderr};

pub use bar::BarProgress;
pub use lines::LineProgress;

/// Who watches a run.
pub trait Progress {
    /// Something happened. Returns quickly and leaves no thread behind: a trial may be about to start.
    fn event(&mut self, event: &Event);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn event(&mut self, _: &Event) {}
}

/// A bar when stderr is a terminal, else plain lines on stderr, at most one per second for trials that went well.
#[must_use]
pub fn on_stderr() -> Box<dyn Progress> {
    match stderr().is_terminal() {
        true => Box::new(BarProgress::on_stderr()),
        false => Box::new(LineProgress::new(stderr(), 1.0)),
    }
}

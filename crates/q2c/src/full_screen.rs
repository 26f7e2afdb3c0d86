//! The whole screen of a terminal, which a live view takes over.

use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use ratatui::crossterm::event::{self, Event};
use ratatui::{DefaultTerminal, Frame};
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static SCREEN_TAKEN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal's screen if it was taken over.
pub(crate) fn restore() {
    if SCREEN_TAKEN.swap(false, Ordering::AcqRel) {
        ratatui::restore();
    }
}

/// The screen while it is taken over. It is restored when this value is dropped, and after a panic.
pub(crate) struct FullScreen(DefaultTerminal);

impl Drop for FullScreen {
    fn drop(&mut self) {
        // Dropping the `DefaultTerminal` after this shows the cursor again.
        restore();
    }
}

impl FullScreen {
    /// True if stdin, stdout and stderr are a terminal that can move its cursor.
    pub(crate) fn is_possible() -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let all_tty = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
        all_tty && !is_dumb
    }

    /// Takes over the screen. `advice` says what to do where that is refused.
    pub(crate) fn take(advice: &str) -> Result<Self, Fault> {
        let terminal = ratatui::try_init().map_err(|error| {
            ratatui::restore();
            Fault::environment(format!("take over the terminal: {error}; {advice}"))
        })?;
        SCREEN_TAKEN.store(true, Ordering::Release);
        Ok(FullScreen(terminal))
    }

    /// Keys pressed, and changes of the size, since the last call.
    pub(crate) fn events(&self) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        while event::poll(Duration::ZERO).or_exit(Exit::Environment)? {
            events.push(event::read().or_exit(Exit::Environment)?);
        }
        Ok(events)
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Fault> {
        let drawn = self.0.draw(draw);
        drawn
            .map(drop)
            .or_fault(Exit::Environment, "draw the screen")
    }

    /// Shows a text that has as many lines as the screen. In raw mode a line's end does not move
    /// the cursor to the first column.
    pub(crate) fn show(&self, text: &str) -> Result<(), Fault> {
        let lines = text.replace('\n', "\x1b[K\r\n");
        let written = write!(stdout(), "\x1b[H{lines}\x1b[J");
        let written = written.and_then(|()| stdout().flush());
        written.or_fault(Exit::Environment, "draw the screen")
    }
}

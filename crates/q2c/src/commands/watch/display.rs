//! The output of a watch: the terminal's screen, or lines.

use super::draw::{Head, draw};
use super::keys::{Action, action};
use super::state::WatchState;
use crate::output::{print_while_read, say};
use q2c_model::{Fault, OrFault};
use q2c_report::terminal::{watch_head, watch_late_line, watch_line};
use q2c_result::Exit;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) enum WatchDisplay {
    /// The whole screen of the terminal. It is given back when this value is dropped, and at a
    /// panic.
    Screen(TerminalScreen),
    Lines {
        /// Whether the lines go to stderr, because stdout is for the result alone.
        aside: bool,
    },
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the screen of the terminal back where it was taken over.
pub(crate) fn give_back_the_screen() {
    if TAKEN.swap(false, Ordering::AcqRel) {
        ratatui::restore();
    }
}

pub(crate) struct TerminalScreen(DefaultTerminal);

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // The cursor comes back when the `DefaultTerminal` is dropped after this.
        give_back_the_screen();
    }
}

impl WatchDisplay {
    /// Takes over the screen when stdin, stdout and stderr are a terminal that can move its cursor,
    /// and `plain` and `json` are false. Else prints the head of the lines.
    pub(crate) fn open(plain: bool, json: bool) -> Result<Self, Fault> {
        let terminal = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if plain || json || dumb || !terminal {
            let display = WatchDisplay::Lines { aside: json };
            display.line(&watch_head())?;
            return Ok(display);
        }
        let terminal = ratatui::try_init().map_err(|error| {
            ratatui::restore();
            let message = format!("take over the terminal: {error}; use --plain");
            Fault::new(Exit::Environment, message)
        })?;
        TAKEN.store(true, Ordering::Release);
        Ok(WatchDisplay::Screen(TerminalScreen(terminal)))
    }

    /// The actions of the keys that were pressed since the last call; none where lines are shown.
    pub(crate) fn asked(&mut self) -> Result<Vec<Action>, Fault> {
        let mut actions = Vec::new();
        if let WatchDisplay::Screen(_) = self {
            while event::poll(Duration::ZERO).or_exit(Exit::Environment)? {
                actions.extend(action(&event::read().or_exit(Exit::Environment)?));
            }
        }
        Ok(actions)
    }

    /// Prints the latest interval as a line, where lines are shown. Returns false when the reader
    /// has closed the pipe.
    pub(crate) fn tell(&self, state: &WatchState) -> Result<bool, Fault> {
        match (self, state.last()) {
            (WatchDisplay::Lines { .. }, Some(last)) => {
                let delivered = self.line(&watch_line(last, &state.names()))?;
                match watch_late_line(last) {
                    Some(line) if delivered => self.line(&line),
                    _ => Ok(delivered),
                }
            }
            _ => Ok(true),
        }
    }

    fn line(&self, line: &str) -> Result<bool, Fault> {
        match self {
            WatchDisplay::Lines { aside: true } => {
                say(line);
                Ok(true)
            }
            _ => print_while_read(line),
        }
    }

    pub(crate) fn draw(&mut self, state: &WatchState, head: &Head) -> Result<(), Fault> {
        if let WatchDisplay::Screen(TerminalScreen(terminal)) = self {
            let drawn = terminal.draw(|frame| draw(frame, state, head));
            drawn.map_err(|e| Fault::new(Exit::Environment, format!("draw the screen: {e}")))?;
        }
        Ok(())
    }
}

//! Where a watch is shown: the terminal's screen, or lines.

use super::draw::{Head, draw};
use super::keys::{Action, action};
use super::session::Session;
use crate::failure::{Fails, Failure};
use crate::output::{print_while_read, say};
use q2c_report::terminal::{watch_head, watch_line};
use q2c_result::Exit;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::time::Duration;

/// Where it is shown.
pub enum Face {
    /// The whole screen. It is put back when this goes, and at a panic.
    Screen(Screen),
    /// Lines to stdout, or to stderr where stdout is for the result alone.
    Lines {
        /// To stderr.
        aside: bool,
    },
}

/// A terminal that q2c has taken over.
pub struct Screen(DefaultTerminal);

impl Drop for Screen {
    fn drop(&mut self) {
        // The cursor comes back with the terminal's own end.
        ratatui::restore();
    }
}

impl Face {
    /// The screen where there is one with somebody before it, else lines.
    pub fn open(plain: bool, json: bool) -> Result<Self, Failure> {
        let terminal = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if plain || dumb || !terminal {
            let face = Face::Lines { aside: json };
            face.line(&watch_head())?;
            return Ok(face);
        }
        let terminal = ratatui::try_init().map_err(|error| {
            ratatui::restore();
            let why = format!("take over the terminal: {error}; use --plain");
            Failure::new(Exit::Environment, why)
        })?;
        Ok(Face::Screen(Screen(terminal)))
    }

    /// What was asked for at the keys since the last time.
    pub fn asked(&mut self) -> Result<Vec<Action>, Failure> {
        let mut actions = Vec::new();
        if let Face::Screen(_) = self {
            while event::poll(Duration::ZERO).or_exit(Exit::Environment)? {
                actions.extend(action(&event::read().or_exit(Exit::Environment)?));
            }
        }
        Ok(actions)
    }

    /// Shows the latest interval as a line, where lines are shown. False when nobody reads them any more.
    pub fn tell(&self, session: &Session) -> Result<bool, Failure> {
        match (self, session.last()) {
            (Face::Lines { .. }, Some(last)) => self.line(&watch_line(last, &session.names())),
            _ => Ok(true),
        }
    }

    fn line(&self, line: &str) -> Result<bool, Failure> {
        match self {
            Face::Lines { aside: true } => {
                say(line);
                Ok(true)
            }
            _ => print_while_read(line),
        }
    }

    /// Draws the screen, where there is one.
    pub fn draw(&mut self, session: &Session, head: &Head) -> Result<(), Failure> {
        if let Face::Screen(Screen(terminal)) = self {
            let drawn = terminal.draw(|frame| draw(frame, session, head));
            drawn.map_err(|e| Failure::new(Exit::Environment, format!("draw the screen: {e}")))?;
        }
        Ok(())
    }
}

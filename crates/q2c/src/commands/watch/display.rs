//! The output of a watch, on the terminal's screen or as lines, and the keys that control it.

use super::draw::{Head, draw};
use super::state::WatchState;
use crate::full_screen::FullScreen;
use crate::output::print_line;
use q2c_model::Fault;
use q2c_report::terminal::{watch_head, watch_late_line, watch_line};
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

pub(crate) enum WatchDisplay {
    /// The whole screen of the terminal. The terminal is restored when this value is dropped, and
    /// after a panic.
    Screen(FullScreen),
    Lines {
        /// True if the lines go to stderr, because stdout is reserved for the result.
        to_stderr: bool,
    },
}

impl WatchDisplay {
    /// Takes over the screen, unless `plain` or `json` is set or there is no terminal. Else prints
    /// the head of the lines.
    pub(crate) fn open(plain: bool, json: bool) -> Result<Self, Fault> {
        if plain || json || !FullScreen::is_possible() {
            print_line(&watch_head(), json)?;
            return Ok(WatchDisplay::Lines { to_stderr: json });
        }
        FullScreen::take("use --plain").map(WatchDisplay::Screen)
    }

    /// The actions of the keys pressed since the last call; always empty for lines.
    pub(crate) fn actions(&mut self) -> Result<Vec<Action>, Fault> {
        match self {
            WatchDisplay::Screen(screen) => {
                Ok(screen.events()?.iter().filter_map(action).collect())
            }
            WatchDisplay::Lines { .. } => Ok(Vec::new()),
        }
    }

    /// Prints the latest interval if lines are shown. Returns false if the reader has closed the
    /// pipe.
    pub(crate) fn tell(&self, state: &WatchState) -> Result<bool, Fault> {
        match (self, state.last_interval()) {
            (WatchDisplay::Lines { to_stderr }, Some(last)) => {
                let delivered = print_line(&watch_line(last, &state.names()), *to_stderr)?;
                match watch_late_line(last) {
                    Some(line) if delivered => print_line(&line, *to_stderr),
                    _ => Ok(delivered),
                }
            }
            _ => Ok(true),
        }
    }

    pub(crate) fn draw(&mut self, state: &WatchState, head: &Head) -> Result<(), Fault> {
        match self {
            WatchDisplay::Screen(screen) => screen.draw(|frame| draw(frame, state, head)),
            WatchDisplay::Lines { .. } => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Method {
        next: bool,
    },
    Ratio {
        up: bool,
    },
    Background,
    /// Freezes the screen, or lets it continue.
    Pause,
    Quit,
    /// Ends the watch as SIGINT does.
    Interrupt,
    /// Draws the screen again, as its size has changed.
    Redraw,
}

pub(crate) const HELP: &str =
    "up/down, tab: method   left/right: ratio   b: background   p: pause   q: quit";

/// The action that `event` triggers; `None` for other keys and for key releases.
pub(crate) fn action(event: &Event) -> Option<Action> {
    let key = match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        Event::Resize(..) => return Some(Action::Redraw),
        _ => return None,
    };
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Interrupt);
    }
    Some(match key.code {
        KeyCode::Down | KeyCode::Tab => Action::Method { next: true },
        KeyCode::Up | KeyCode::BackTab => Action::Method { next: false },
        KeyCode::Right => Action::Ratio { up: true },
        KeyCode::Left => Action::Ratio { up: false },
        KeyCode::Char('b') => Action::Background,
        KeyCode::Char('p') => Action::Pause,
        KeyCode::Char('q') | KeyCode::Esc => Action::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        action(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn every_key_does_what_the_help_says() {
        let plain = |code| press(code, KeyModifiers::NONE);
        let method = |next| Some(Action::Method { next });
        assert_eq!(plain(KeyCode::Down), method(true));
        assert_eq!(plain(KeyCode::Tab), method(true));
        assert_eq!(plain(KeyCode::Up), method(false));
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), method(false));
        assert_eq!(plain(KeyCode::Right), Some(Action::Ratio { up: true }));
        assert_eq!(plain(KeyCode::Left), Some(Action::Ratio { up: false }));
        assert_eq!(plain(KeyCode::Char('b')), Some(Action::Background));
        assert_eq!(plain(KeyCode::Char('p')), Some(Action::Pause));
        assert_eq!(plain(KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(plain(KeyCode::Esc), Some(Action::Quit));
        let control = press(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(control, Some(Action::Interrupt));
    }

    #[test]
    fn other_keys_and_releases_do_nothing() {
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(press(KeyCode::Char('b'), KeyModifiers::CONTROL), None);
        assert_eq!(press(KeyCode::Enter, KeyModifiers::NONE), None);
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(action(&Event::Key(key)), None);
        assert_eq!(action(&Event::Resize(80, 24)), Some(Action::Redraw));
    }
}

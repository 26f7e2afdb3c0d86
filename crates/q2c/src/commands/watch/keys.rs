//! The keys of a watch and their actions.

use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Method {
        next: bool,
    },
    Ratio {
        up: bool,
    },
    Background,
    /// Stops the screen, or lets it go on.
    Pause,
    Quit,
    /// Ends the watch as SIGINT does.
    Interrupt,
    /// Draws the screen again, as its size has changed.
    Redraw,
}

pub(crate) const HELP: &str =
    "up/down, tab: method   left/right: ratio   b: background   p: pause   q: quit";

/// The action that `event` asks for; `None` for other keys and for releases.
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

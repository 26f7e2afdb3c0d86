//! The surface that is written on: its width, and whether it shows colours.

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color};

/// Where a report goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    pub width: u16,
    /// Whether it understands colours: false for files and pipes.
    pub colour: bool,
}

/// The meaning of a piece of text, from which its looks follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Caution,
    Bad,
}

impl Tone {
    fn colour(self) -> Option<AnsiColor> {
        match self {
            Tone::Good => Some(AnsiColor::Green),
            Tone::Caution => Some(AnsiColor::Yellow),
            Tone::Bad => Some(AnsiColor::Red),
            Tone::Plain | Tone::Strong | Tone::Dim => None,
        }
    }

    fn style(self) -> Style {
        let style = Style::new().fg_color(self.colour().map(Into::into));
        match self {
            Tone::Strong => style.bold(),
            Tone::Dim => style.dimmed(),
            _ => style,
        }
    }
}

impl Screen {
    /// The narrowest that is laid out for; below, lines are longer than the screen.
    const NARROWEST: u16 = 60;

    pub(super) fn columns(self) -> u16 {
        self.width.max(Self::NARROWEST)
    }

    /// `text` made harmless, in the looks of `tone`.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let text = printable(text);
        match self.colour {
            true => format!(
                "{}{text}{}",
                tone.style().render(),
                tone.style().render_reset()
            ),
            false => text,
        }
    }

    /// `text` made harmless, as a table's cell in the looks of `tone`.
    pub(super) fn cell(self, tone: Tone, text: &str) -> Cell {
        self.cell_of_lines(tone, &printable(text))
    }

    /// The same for lines that are harmless already.
    pub(super) fn cell_of_lines(self, tone: Tone, lines: &str) -> Cell {
        let cell = Cell::new(lines);
        match (self.colour, tone) {
            (false, _) | (_, Tone::Plain) => cell,
            (_, Tone::Strong) => cell.add_attribute(Attribute::Bold),
            (_, Tone::Dim) => cell.add_attribute(Attribute::Dim),
            (_, Tone::Good) => cell.fg(Color::Green),
            (_, Tone::Caution) => cell.fg(Color::Yellow),
            (_, Tone::Bad) => cell.fg(Color::Red),
        }
    }

    /// `text` made harmless, wrapped, after a `head` in the looks of `tone`; further lines are indented by two.
    pub(super) fn note(self, tone: Tone, head: &str, text: &str) -> String {
        let options = textwrap::Options::new(usize::from(self.columns()))
            .subsequent_indent("  ")
            .break_words(false);
        let (head, text) = (printable(head), printable(text));
        let whole = textwrap::fill(format!("{head} {text}").trim_end(), options);
        match whole.strip_prefix(&head) {
            Some(rest) => self.paint(tone, &head) + rest + "\n",
            None => whole + "\n",
        }
    }
}

/// Control characters written out: a device's name must not move the cursor, change colours or begin a line.
pub(super) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() || is_invisible(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Line separators, and marks that turn the direction of what follows.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(
            printable("nvme\u{1b}[31m\r\nß"),
            "nvme\\u{1b}[31m\\u{d}\\u{a}ß"
        );
        assert_eq!(printable("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
    }

    proptest! {
        #[test]
        fn no_control_character_survives(text in any::<String>()) {
            let screen = Screen { width: 80, colour: false };
            let note = screen.note(Tone::Bad, &text, &text);
            prop_assert!(note.chars().all(|c| c == '\n' || !c.is_control()), "{note:?}");
        }
    }
}

//! The terminal that a report is written for, and how text is made harmless for it.

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color};
use q2c_result::Warning;

/// The terminal or file that a report is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Width in columns. Reports use at least 60, even if the terminal is narrower.
    pub width: u16,
    /// Whether to write escape sequences for colours; false for files and pipes.
    pub colour: bool,
}

/// The meaning of a piece of text, from which its colour and weight follow.
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
    /// The smallest width that reports are laid out for; on a narrower screen lines are longer than
    /// it.
    const NARROWEST: u16 = 60;

    pub(super) fn columns(self) -> u16 {
        self.width.max(Self::NARROWEST)
    }

    /// Makes `text` harmless and styles it by `tone`.
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

    /// Makes a table's cell of `text`: harmless, and styled by `tone`.
    pub(super) fn cell(self, tone: Tone, text: &str) -> Cell {
        self.cell_of_lines(tone, &printable(text))
    }

    /// Makes a table's cell of lines that are harmless already, styled by `tone`.
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

    /// A note for each warning of a result.
    pub(super) fn warnings(self, warnings: &[Warning]) -> String {
        let told = |warning: &Warning| {
            let head = format!("warning {}:", warning.id);
            let mut told = format!("{}; {}.", warning.found, warning.means);
            if !warning.todo.is_empty() {
                told += &format!(" To do: {}", warning.todo);
            }
            self.note(Tone::Caution, &head, &told)
        };
        warnings.iter().map(told).collect()
    }

    /// Writes `head`, styled by `tone`, and `text` behind it. Both are made harmless, and wrapped
    /// to the screen; further lines are indented by two.
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

/// Makes text harmless by writing control characters as escapes. A device's name, for example, must
/// not move the cursor, change colours or begin a line.
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

/// Whether the character is a line separator, or a mark that turns the direction of the text behind
/// it.
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

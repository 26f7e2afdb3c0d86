//! The terminal that a report is written for, and how text is made harmless for it.

use super::pieces;
use crate::phrase::joined;
use anstyle::{AnsiColor, Style};

/// The terminal or file that a report is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Width in columns. Reports use at least 60, even if the terminal is narrower.
    pub width: u16,
    /// True to write escape sequences for colours; false for files and pipes.
    pub colour: bool,
    /// True to show the details behind the answers as well.
    pub verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Strong,
    Dim,
    Good,
    Caution,
    Bad,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Caution => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
        }
    }
}

impl Screen {
    /// A screen that shows answers without the details behind them.
    #[must_use]
    pub const fn new(width: u16, colour: bool) -> Self {
        Screen {
            width,
            colour,
            verbose: false,
        }
    }

    /// The smallest layout width, in columns. On a narrower screen, lines exceed the screen.
    const MIN_COLUMNS: u16 = 60;

    pub(super) fn columns(self) -> usize {
        self.width.max(Self::MIN_COLUMNS).into()
    }

    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let text = printable(text);
        if !self.colour {
            return text;
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// Breaks a text, which must be harmless already, into lines; further lines start with `hang`.
    pub(super) fn wrap(self, text: &str, hang: &str) -> String {
        pieces::wrap(text, self.columns(), "", hang).join("\n")
    }

    /// A sentence with further lines indented by two.
    pub(super) fn sentence(self, text: &str) -> String {
        self.wrap(&printable(text), "  ") + "\n"
    }

    pub(super) fn legend(self, text: &str) -> String {
        let lines = self.wrap(&printable(text), "");
        let line = |line| self.paint(Tone::Dim, line) + "\n";
        lines.lines().map(line).collect()
    }

    /// An item below the text before it, after a mark. Its further lines are indented by four.
    pub(super) fn bullet(self, text: &str, mark: &str) -> String {
        pieces::wrap(&printable(text), self.columns(), mark, "    ").join("\n") + "\n"
    }

    /// A step for the user, indented by four. It is broken only between words, because it may
    /// contain a command to copy.
    pub(super) fn command(self, text: &str) -> String {
        self.wrap_at_blanks(&printable(text), "    ", "      ") + "\n"
    }

    /// A line to copy, indented by four and never broken.
    pub(super) fn line(self, text: &str) -> String {
        format!("    {}\n", printable(text))
    }

    /// A message for the user, which must be harmless already. Its own line breaks stay, and lines
    /// that a wrap adds are indented by two.
    #[must_use]
    pub fn message(self, text: &str) -> String {
        let lines = text.split('\n');
        joined(lines.map(|line| self.wrap_at_blanks(line, "", "  ")), "\n")
    }

    /// Breaks a text only between words, because it may contain a name or a command to copy.
    fn wrap_at_blanks(self, text: &str, indent: &str, hang: &str) -> String {
        let options = textwrap::Options::new(self.columns())
            .initial_indent(indent)
            .subsequent_indent(hang)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace);
        textwrap::fill(text, options)
    }

    /// Writes `head`, styled by `tone`, and then `text`. Both are made harmless and wrapped to the
    /// screen; further lines are indented by two.
    pub(super) fn note(self, tone: Tone, head: &str, text: &str) -> String {
        let head = printable(head);
        let lines = format!("{head} {}", printable(text));
        let lines = self.wrap(lines.trim_end(), "  ");
        match lines.strip_prefix(&head) {
            Some(further_text) => self.paint(tone, &head) + further_text + "\n",
            None => lines + "\n",
        }
    }
}

/// Makes text harmless by writing control characters as escapes. A device's name, for example, must
/// not move the cursor, change colours or start a line.
pub(crate) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Line separators, and marks that change the direction of the text after them.
            '\u{2028}'
            | '\u{2029}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => safe.extend(c.escape_unicode()),
            c if c.is_control() => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_fits_and_keeps_its_names_whole() {
        let screen = Screen::new(80, false);
        let path = format!("/srv/{}/trace.parquet", "long-name/".repeat(9));
        let text = format!("read {path}: {} 7 of 9", "words ".repeat(30));
        let message = screen.message(&text);
        let lines: Vec<&str> = message.lines().collect();
        assert!(lines.len() > 3 && lines[1].starts_with("  "), "{message}");
        let mut free = lines.iter().filter(|line| !line.contains(&path));
        assert!(free.all(|line| line.chars().count() <= 80), "{message}");
        assert!(message.contains(&path), "{message}");
        assert_eq!(screen.message("   a\n   ^ here"), "   a\n   ^ here");
    }

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        let shown = "nvme\\u{1b}[31m\\u{d}\\u{a}ß";
        assert_eq!(printable("nvme\u{1b}[31m\r\nß"), shown);
        assert_eq!(printable("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
    }

    proptest! {
        #[test]
        fn no_control_character_survives(text in any::<String>()) {
            let note = Screen::new(80, false).note(Tone::Bad, &text, &text);
            prop_assert!(note.chars().all(|c| c == '\n' || !c.is_control()), "{note:?}");
        }
    }
}

//! Tables that fit the terminal. [`fit`] says how wide each column is, [`draw`] writes the lines.

mod draw;
mod fit;

use super::screen::{Screen, Tone, printable};
use crate::phrase::joined;
use textwrap::core::display_width;

#[derive(Clone, Debug)]
pub(super) struct TerminalColumn {
    head: String,
    /// True if fields may be broken between words. Numbers stay whole.
    wraps: bool,
    right: bool,
    /// True if the column may be left out on a screen that is too narrow for all columns.
    optional: bool,
}

impl TerminalColumn {
    /// A column of words. Its fields may be broken between them.
    pub(crate) fn words(head: &str) -> Self {
        TerminalColumn {
            head: lines(head),
            wraps: true,
            right: false,
            optional: false,
        }
    }

    /// A column of numbers or short names.
    pub(crate) fn numbers(head: &str) -> Self {
        TerminalColumn {
            wraps: false,
            right: true,
            ..Self::words(head)
        }
    }

    /// Aligns the column to the left and never breaks its fields.
    pub(crate) fn left(self) -> Self {
        TerminalColumn {
            right: false,
            wraps: false,
            ..self
        }
    }

    /// Allows to leave the column out on a narrow screen; the last optional column goes first.
    pub(crate) fn optional(self) -> Self {
        TerminalColumn {
            optional: true,
            ..self
        }
    }
}

/// A field. Its text may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerminalField {
    text: String,
    tone: Tone,
    /// Text before the first line.
    mark: &'static str,
    /// Text before each line that a break between words adds.
    hang: &'static str,
}

impl TerminalField {
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        TerminalField {
            text: lines(text),
            tone,
            ..TerminalField::default()
        }
    }

    /// Sets the text before the first line and before further lines.
    pub(crate) fn marked(self, mark: &'static str, hang: &'static str) -> Self {
        TerminalField { mark, hang, ..self }
    }

    fn width(&self) -> usize {
        widest(&self.text) + display_width(self.mark)
    }
}

impl<T: AsRef<str>> From<T> for TerminalField {
    fn from(text: T) -> Self {
        TerminalField::new(Tone::Plain, text.as_ref())
    }
}

/// A table. The first column has the names of the rows.
#[derive(Clone, Debug)]
pub(super) struct TerminalTable {
    columns: Vec<TerminalColumn>,
    rows: Vec<Vec<TerminalField>>,
}

impl TerminalTable {
    pub(crate) fn new(columns: impl IntoIterator<Item = TerminalColumn>) -> Self {
        TerminalTable {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add<F: Into<TerminalField>>(&mut self, row: impl IntoIterator<Item = F>) {
        let mut fields: Vec<TerminalField> = row.into_iter().map(Into::into).collect();
        fields.resize_with(self.columns.len(), TerminalField::default);
        self.rows.push(fields);
    }

    /// The table's lines on this screen. Each ends in a line feed, without blanks before it.
    pub fn text(&self, screen: Screen) -> String {
        draw::text(self, &fit::fit(self, screen.columns()), screen)
    }
}

/// Makes each line harmless, and keeps the line feeds.
fn lines(text: &str) -> String {
    joined(text.split('\n').map(printable), "\n")
}

fn widest(text: &str) -> usize {
    text.split('\n').map(display_width).max().unwrap_or(0)
}

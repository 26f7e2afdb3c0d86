//! Writes a table that is laid out.

use super::fit::{self, INDENT, TableFit};
use super::{TerminalField, TerminalTable, Tone};
use crate::phrase::{joined, some_listed};
use crate::terminal::pieces;
use crate::terminal::screen::Screen;
use textwrap::core::display_width;

pub(super) fn text(table: &TerminalTable, fit: &TableFit, screen: Screen) -> String {
    let mut text = joined(
        fit.parts
            .iter()
            .map(|part| part_text(table, fit, part, screen)),
        "\n",
    );
    let head = |&at: &usize| table.columns[at].head.trim().replace('\n', " ");
    if let Some(heads) = some_listed(fit.left_out.iter().map(head)) {
        let wide = fit::width_of_all(table, usize::from(screen.columns()));
        let sentence = format!("{heads}; {wide} columns have room for it");
        text += &screen.note(Tone::Dim, "left out:", &sentence);
    }
    text
}

fn part_text(
    table: &TerminalTable,
    fit: &TableFit,
    part: &[(usize, usize)],
    screen: Screen,
) -> String {
    let inner: usize =
        part.iter().map(|(_, width)| width).sum::<usize>() + fit.gap * part.len().saturating_sub(1);
    let width = if fit.stacked {
        inner + INDENT
    } else if part.is_empty() {
        fit.names
    } else {
        fit.names + fit.gap + inner
    };
    let rule = "─".repeat(width) + "\n";
    let pen = Pen {
        table,
        fit,
        part,
        screen,
    };
    let heads = table.columns.iter().map(|column| TerminalField {
        text: column.head.clone(),
        tone: Tone::Strong,
        ..TerminalField::default()
    });
    let heads: Vec<TerminalField> = heads.collect();
    let mut text = pen.row(&heads, None) + &rule;
    let mut before = None;
    for row in &table.rows {
        text += &pen.row(row, before);
        before = row.first();
    }
    text + &rule
}

struct Pen<'a> {
    table: &'a TerminalTable,
    fit: &'a TableFit,
    part: &'a [(usize, usize)],
    screen: Screen,
}

impl Pen<'_> {
    /// A row. A name on a line of its own is not repeated below the same name.
    fn row(&self, row: &[TerminalField], before: Option<&TerminalField>) -> String {
        let Some(name) = row.first() else {
            return String::new();
        };
        if !self.fit.stacked {
            let columns = [&[(0, self.fit.names)][..], self.part].concat();
            return self.lines(row, &columns, 0);
        }
        let mut text = String::new();
        if before != Some(name) {
            for line in wrapped(name, self.fit.names) {
                text += &(self.screen.paint(name.tone, line.trim_end()) + "\n");
            }
        }
        if self.part.iter().any(|&(at, _)| !row[at].text.is_empty()) {
            text += &self.lines(row, self.part, INDENT);
        }
        text
    }

    fn lines(&self, row: &[TerminalField], columns: &[(usize, usize)], indent: usize) -> String {
        let fields = columns.iter().map(|&(at, width)| {
            if self.table.columns[at].wraps {
                wrapped(&row[at], width)
            } else {
                row[at].text.split('\n').map(str::to_owned).collect()
            }
        });
        let fields: Vec<Vec<String>> = fields.collect();
        let height = fields.iter().map(Vec::len).max().unwrap_or(0);
        let line = |line| self.line(row, columns, &fields, line, indent);
        (0..height).map(line).collect()
    }

    fn line(
        &self,
        row: &[TerminalField],
        columns: &[(usize, usize)],
        fields: &[Vec<String>],
        line: usize,
        indent: usize,
    ) -> String {
        let mut text = String::new();
        // Blanks are written when something stands behind them.
        let mut blanks = indent;
        for (&(at, width), lines) in columns.iter().zip(fields) {
            let piece = lines.get(line).map_or("", String::as_str);
            let free = width.saturating_sub(display_width(piece));
            let (before, behind) = if self.table.columns[at].right {
                (free, 0)
            } else {
                (0, free)
            };
            if piece.is_empty() {
                blanks += width + self.fit.gap;
                continue;
            }
            text += &" ".repeat(blanks + before);
            text += &self.screen.paint(row[at].tone, piece);
            blanks = behind + self.fit.gap;
        }
        text + "\n"
    }
}

fn wrapped(field: &TerminalField, width: usize) -> Vec<String> {
    pieces::wrapped(&field.text, width, field.mark, field.hang)
}

//! Writes a table that is laid out.

use super::fit::{self, INDENT, TableFit};
use super::{TerminalField, TerminalTable, Tone};
use crate::phrase::{joined, some_listed};
use crate::terminal::pieces;
use crate::terminal::screen::Screen;
use textwrap::core::display_width;

pub(super) fn text(table: &TerminalTable, fit: &TableFit, screen: Screen) -> String {
    let pen = |part| Pen {
        table,
        fit,
        part,
        screen,
    };
    let mut text = joined(fit.parts.iter().map(|part| pen(part).text()), "\n");
    let head = |&at: &usize| table.columns[at].head.trim().replace('\n', " ");
    if let Some(heads) = some_listed(fit.left_out.iter().map(head)) {
        let wide = fit::width_of_all(table, screen.columns());
        let sentence = format!("{heads}; {wide} columns have room for it");
        text += &screen.note(Tone::Dim, "left out:", &sentence);
    }
    text
}

struct Pen<'a> {
    table: &'a TerminalTable,
    fit: &'a TableFit,
    part: &'a [(usize, usize)],
    screen: Screen,
}

impl Pen<'_> {
    fn text(&self) -> String {
        let gap = self.fit.gap;
        let columns: usize = self.part.iter().map(|(_, width)| width + gap).sum();
        let width = if self.fit.stacked {
            INDENT + columns.saturating_sub(gap)
        } else {
            self.fit.names + columns
        };
        let rule = "─".repeat(width) + "\n";
        let heads = self.table.columns.iter();
        let heads = heads.map(|column| TerminalField::new(Tone::Strong, &column.head));
        let mut text = self.row(&heads.collect::<Vec<_>>(), None) + &rule;
        let mut before = None;
        for row in &self.table.rows {
            text += &self.row(row, before);
            before = row.first();
        }
        text + &rule
    }

    /// A row. A name on a line of its own is left out below the same name.
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
        let fields = columns.iter().map(|&(at, width)| match &row[at] {
            field if self.table.columns[at].wraps => wrapped(field, width),
            field => field.text.split('\n').map(str::to_owned).collect(),
        });
        let fields: Vec<Vec<String>> = fields.collect();
        let height = fields.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for line in 0..height {
            // Blanks are written only if something follows them.
            let mut blanks = indent;
            for (&(at, width), lines) in columns.iter().zip(&fields) {
                let piece = lines.get(line).map_or("", String::as_str);
                if piece.is_empty() {
                    blanks += width + self.fit.gap;
                    continue;
                }
                let free = width.saturating_sub(display_width(piece));
                let before = free * usize::from(self.table.columns[at].right);
                text += &" ".repeat(blanks + before);
                text += &self.screen.paint(row[at].tone, piece);
                blanks = free - before + self.fit.gap;
            }
            text += "\n";
        }
        text
    }
}

fn wrapped(field: &TerminalField, width: usize) -> Vec<String> {
    pieces::wrapped(&field.text, width, field.mark, field.hang)
}

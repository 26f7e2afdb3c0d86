//! Writes a table that is laid out.

use super::fit::{self, Fit, INDENT};
use super::{Field, Table, Tone};
use crate::terminal::pieces;
use crate::terminal::screen::Screen;
use textwrap::core::display_width;

/// The lines of a table, and what was left out of it.
pub(super) fn text(table: &Table, fit: &Fit, screen: Screen) -> String {
    let parts = fit.parts.iter().map(|part| one(table, fit, part, screen));
    let mut text = parts.collect::<Vec<_>>().join("\n");
    if !fit.left_out.is_empty() {
        let heads = fit
            .left_out
            .iter()
            .map(|&at| table.columns[at].head.trim().replace('\n', " "));
        let words = format!(
            "{}; {} columns have room for it",
            heads.collect::<Vec<_>>().join(", "),
            fit::width_of_all(table, usize::from(screen.columns()))
        );
        text += &screen.note(Tone::Dim, "left out:", &words);
    }
    text
}

fn one(table: &Table, fit: &Fit, part: &[(usize, usize)], screen: Screen) -> String {
    let inner: usize =
        part.iter().map(|(_, width)| width).sum::<usize>() + fit.gap * part.len().saturating_sub(1);
    let width = match fit.stacked {
        true => inner + INDENT,
        false if part.is_empty() => fit.names,
        false => fit.names + fit.gap + inner,
    };
    let rule = "─".repeat(width) + "\n";
    let pen = Pen {
        table,
        fit,
        part,
        screen,
    };
    let heads: Vec<Field> = table
        .columns
        .iter()
        .map(|c| Field {
            text: c.head.clone(),
            tone: c.head_tone,
            ..Field::default()
        })
        .collect();
    let mut text = pen.row(&heads, None) + &rule;
    let mut before = None;
    for row in &table.rows {
        text += &pen.row(row, before);
        before = row.first();
    }
    text + &rule
}

struct Pen<'a> {
    table: &'a Table,
    fit: &'a Fit,
    part: &'a [(usize, usize)],
    screen: Screen,
}

impl Pen<'_> {
    /// A row. A name on a line of its own is not repeated below the same name.
    fn row(&self, row: &[Field], before: Option<&Field>) -> String {
        let Some(name) = row.first() else {
            return String::new();
        };
        let columns = self.part.iter().map(|&(at, width)| (at, width));
        if !self.fit.stacked {
            let all: Vec<_> = std::iter::once((0, self.fit.names))
                .chain(columns)
                .collect();
            return self.lines(row, &all, 0);
        }
        let mut text = String::new();
        if before != Some(name) {
            for line in wrapped(name, self.fit.names) {
                text += &(self.screen.paint(name.tone, line.trim_end()) + "\n");
            }
        }
        let all: Vec<_> = columns.collect();
        if all.iter().any(|&(at, _)| !row[at].text.is_empty()) {
            text += &self.lines(row, &all, INDENT);
        }
        text
    }

    /// The lines of some fields beside each other.
    fn lines(&self, row: &[Field], columns: &[(usize, usize)], indent: usize) -> String {
        let fields: Vec<Vec<String>> = columns
            .iter()
            .map(|&(at, width)| match self.table.columns[at].wraps {
                true => wrapped(&row[at], width),
                false => row[at].text.split('\n').map(str::to_owned).collect(),
            })
            .collect();
        let height = fields.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|line| self.line(row, columns, &fields, line, indent))
            .collect()
    }

    fn line(
        &self,
        row: &[Field],
        columns: &[(usize, usize)],
        fields: &[Vec<String>],
        line: usize,
        indent: usize,
    ) -> String {
        let mut text = String::new();
        // Blanks are written when something stands behind them.
        let mut blanks = indent;
        for (&(at, width), lines) in columns.iter().zip(fields) {
            let words = lines.get(line).map_or("", String::as_str);
            let free = width.saturating_sub(display_width(words));
            let (before, behind) = match self.table.columns[at].right {
                true => (free, 0),
                false => (0, free),
            };
            if words.is_empty() {
                blanks += width + self.fit.gap;
                continue;
            }
            text += &" ".repeat(blanks + before);
            text += &self.screen.paint(row[at].tone, words);
            blanks = behind + self.fit.gap;
        }
        text + "\n"
    }
}

fn wrapped(field: &Field, width: usize) -> Vec<String> {
    pieces::wrapped(&field.text, width, field.mark, field.hang)
}

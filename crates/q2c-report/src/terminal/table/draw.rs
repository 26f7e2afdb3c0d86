//! Writes a table that is laid out.

use super::fit::{self, Fit, INDENT};
use super::{Field, Table, Tone};
use crate::phrase::{joined, some_listed};
use crate::terminal::pieces;
use crate::terminal::screen::Screen;
use textwrap::core::display_width;

pub(super) fn text(table: &Table, fit: &Fit, screen: Screen) -> String {
    let mut text = joined(
        fit.parts.iter().map(|part| one(table, fit, part, screen)),
        "\n",
    );
    let head = |&at: &usize| table.columns[at].head.trim().replace('\n', " ");
    if let Some(heads) = some_listed(fit.left_out.iter().map(head)) {
        let wide = fit::width_of_all(table, usize::from(screen.columns()));
        let words = format!("{heads}; {wide} columns have room for it");
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
    let heads = table.columns.iter().map(|column| Field {
        text: column.head.clone(),
        tone: Tone::Strong,
        ..Field::default()
    });
    let heads: Vec<Field> = heads.collect();
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
        if !self.fit.stacked {
            let all = [&[(0, self.fit.names)][..], self.part].concat();
            return self.lines(row, &all, 0);
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

    fn lines(&self, row: &[Field], columns: &[(usize, usize)], indent: usize) -> String {
        let fields = columns
            .iter()
            .map(|&(at, width)| match self.table.columns[at].wraps {
                true => wrapped(&row[at], width),
                false => row[at].text.split('\n').map(str::to_owned).collect(),
            });
        let fields: Vec<Vec<String>> = fields.collect();
        let height = fields.iter().map(Vec::len).max().unwrap_or(0);
        let line = |line| self.line(row, columns, &fields, line, indent);
        (0..height).map(line).collect()
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

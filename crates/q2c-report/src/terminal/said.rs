//! Writes the sentences and tables of [`crate::said`] to a terminal.

use super::screen::{Screen, Tone, printable};
use super::table;
use crate::said::{Field, Said, Table, Weight};
use comfy_table::{Cell, ColumnConstraint, Width};
use textwrap::core::display_width;

/// Least width of the column of names, unless its longest line is shorter.
const NAME: usize = 12;

pub(super) fn all<'a>(said: impl IntoIterator<Item = &'a Said>, screen: Screen) -> String {
    let one = |said: &Said| {
        let tone = match said.weight {
            Weight::Plain => Tone::Strong,
            Weight::Good => Tone::Good,
            Weight::Caution => Tone::Caution,
            Weight::Bad => Tone::Bad,
        };
        screen.note(tone, &format!("{}:", said.what), &said.words)
    };
    said.into_iter().map(one).collect()
}

/// An empty line, the table, and its legend.
pub(super) fn table(of: &Table, screen: Screen) -> String {
    let mut table = table::empty(screen);
    let head = of.head.iter().map(|name| printable_lines(name));
    table.set_header(head.map(|name| screen.cell_of_lines(Tone::Strong, &name)));
    for row in &of.rows {
        table.add_row(row.iter().map(|field| cell(field, screen)));
    }
    table::align_plain(&mut table);
    let names = widths(of).first().map_or(0, |width| *width.min(&NAME));
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
            // One column more for the padding.
            names as u16 + 1,
        )));
    }
    let mut text = format!("\n{}", table::text(&table));
    if !of.legend.is_empty() {
        text += &legend(of.legend, screen);
    }
    text
}

/// Whether the table fits on the screen when its names may be wrapped to `names` columns.
pub(super) fn fits(of: &Table, names: usize, screen: Screen) -> bool {
    let mut widths = widths(of);
    if let Some(first) = widths.first_mut() {
        *first = (*first).min(names);
    }
    // Each column has a blank of padding and one of the table behind it.
    let needed: usize = widths.iter().map(|width| width + 2).sum();
    needed <= usize::from(screen.columns()) + 1
}

/// Width of the widest line of each column.
fn widths(of: &Table) -> Vec<usize> {
    let widest = |text: &str| text.lines().map(display_width).max().unwrap_or(0);
    let column = |(at, head): (usize, &String)| {
        let fields = of.rows.iter().filter_map(|row| row.get(at));
        let fields = fields.map(|field| widest(&field.text).max(widest(&field.below)));
        fields.max().unwrap_or(0).max(widest(head))
    };
    of.head.iter().enumerate().map(column).collect()
}

fn legend(text: &str, screen: Screen) -> String {
    let lines = textwrap::wrap(text, usize::from(screen.columns()));
    let painted = lines
        .iter()
        .map(|line| screen.paint(Tone::Dim, line) + "\n");
    painted.collect()
}

/// Makes each line harmless and keeps the line feeds.
fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

fn cell(field: &Field, screen: Screen) -> Cell {
    let mut lines = printable(&field.text);
    if !field.below.is_empty() {
        lines += &format!("\n{}", printable(&field.below));
    }
    screen.cell_of_lines(Tone::Plain, &lines)
}

//! The results table of one block size, with two lines per method and policy: the measurement and
//! the prediction. Also the helpers that all tables share.

use super::screen::{Screen, Tone, printable};
use crate::label;
use crate::metric::in_terminal;
use crate::mode::{self, Kept};
use comfy_table::{Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, Table};
use comfy_table::{TableComponent, presets};
use q2c_result::tune::{Cell, Recommendation};

/// A line of the table: a text and the numbers.
struct Row {
    /// Written in front of the first line of `about`.
    mark: &'static str,
    about: String,
    tone: Tone,
    numbers: Vec<Field>,
}

/// The results table of some cells, as text that ends with a line feed.
pub(super) fn results(
    cells: &[&Cell],
    recommendation: Option<&Recommendation>,
    screen: Screen,
) -> String {
    let mut rows = vec![head(screen)];
    for cell in cells {
        let recommended = label::is_recommended(cell, recommendation);
        rows.extend([measured(cell, recommended, screen), predicted(cell, screen)]);
    }
    lay_out(rows, screen)
}

/// Lays out the rows. The names get the room that the numbers leave. Columns stand two blanks apart
/// when no name has to be wrapped for that, else one.
fn lay_out(rows: Vec<Row>, screen: Screen) -> String {
    let width = |row: &Row| textwrap::core::display_width(&row.about) + row.mark.len();
    let longest = rows.iter().map(width).max().unwrap_or(0);
    let wide = room(&rows, 2, screen);
    let (gap, room) = if wide >= longest {
        (2, wide)
    } else {
        (1, room(&rows, 1, screen))
    };
    let mut table = empty(screen);
    let mut rows = rows.into_iter();
    table.set_header(
        rows.next()
            .map(|row| fields(row, room, screen))
            .unwrap_or_default(),
    );
    for row in rows {
        table.add_row(fields(row, room, screen));
    }
    align(&mut table, gap);
    text(&table)
}

/// Width that is left for the names when the numbers stand `gap` blanks apart; at least 16, enough
/// for a short word.
fn room(rows: &[Row], gap: usize, screen: Screen) -> usize {
    let mut numbers = Table::new();
    for row in rows {
        numbers.add_row(row.numbers.clone());
    }
    let widths = numbers.column_max_content_widths();
    let taken: usize = widths.iter().map(|width| usize::from(*width) + gap).sum();
    usize::from(screen.columns()).saturating_sub(taken).max(16)
}

/// The fields of a row; the name is wrapped to `room`, with further lines indented.
fn fields(row: Row, room: usize, screen: Screen) -> Vec<Field> {
    let options = textwrap::Options::new(room)
        .initial_indent(row.mark)
        .subsequent_indent("    ");
    let about = textwrap::fill(&row.about, options);
    let mut fields = vec![screen.cell_of_lines(row.tone, &about)];
    fields.extend(row.numbers);
    fields
}

/// An empty table as wide as the screen, with a line below the head and one at its end. It has
/// colours if `screen` has.
pub(super) fn empty(screen: Screen) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_style(TableComponent::BottomBorder, '─')
        .set_style(TableComponent::BottomBorderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(screen.columns());
    match screen.colour {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    table
}

/// The table's text, without blanks at the ends of lines.
pub(super) fn text(table: &Table) -> String {
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n") + "\n"
}

fn head(screen: Screen) -> Row {
    let mut numbers = Vec::new();
    for metric in in_terminal() {
        let head = format!("{}\n{}", metric.name, metric.unit);
        numbers.push(screen.cell_of_lines(Tone::Strong, &head));
        if metric.with_range {
            numbers.push(screen.cell_of_lines(Tone::Dim, "\n[min, max]"));
        }
    }
    Row {
        mark: "",
        about: "method and policy\nprediction below".into(),
        tone: Tone::Strong,
        numbers,
    }
}

fn measured(cell: &Cell, recommended: bool, screen: Screen) -> Row {
    let (mark, of_name, of_numbers) = match recommended {
        true => ("▸ ", Tone::Good, Tone::Strong),
        false => ("  ", Tone::Plain, Tone::Plain),
    };
    let mut numbers = Vec::new();
    for metric in in_terminal() {
        numbers.push(screen.cell(of_numbers, &metric.median(cell)));
        if metric.with_range {
            numbers.push(screen.cell(Tone::Dim, &metric.range(cell)));
        }
    }
    Row {
        mark,
        about: printable(&label::cell(cell)),
        tone: of_name,
        numbers,
    }
}

/// The second line of a cell: its role, its effective mode when that differs from the one asked
/// for, and the prediction.
fn predicted(cell: &Cell, screen: Screen) -> Row {
    let (mut about, mut tone) = (cell.role.text().to_owned(), Tone::Dim);
    match mode::kept(&cell.effective_mode) {
        Kept::AsAsked => {}
        Kept::ByOtherMeans => about += &format!("; {}", mode::words(&cell.effective_mode.was)),
        Kept::Differs => {
            about += &format!("; was {}", mode::words(&cell.effective_mode.was));
            tone = Tone::Bad;
        }
    }
    let mut numbers = Vec::new();
    for metric in in_terminal() {
        numbers.push(screen.cell(Tone::Dim, &metric.predicted(cell)));
        if metric.with_range {
            numbers.push(Field::new(""));
        }
    }
    Row {
        mark: "    ",
        about: printable(&about),
        tone,
        numbers,
    }
}

/// A table of texts: names in the first column, fields right-aligned behind them; ends with a line
/// feed.
pub(super) fn plain(
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    screen: Screen,
) -> String {
    let mut table = empty(screen);
    table.set_header(head.iter().map(|name| screen.cell(Tone::Strong, name)));
    for row in rows {
        table.add_row(row.iter().map(|field| screen.cell(Tone::Plain, field)));
    }
    align_plain(&mut table);
    text(&table)
}

/// Aligns the first column to the left and all others to the right; these are never wrapped.
pub(super) fn align_plain(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// Aligns names and intervals to the left and numbers to the right; no column is wrapped by the
/// table.
fn align(table: &mut Table, gap: u16) {
    let mut left = vec![0];
    let mut at = 0;
    for metric in in_terminal() {
        at += 1;
        if metric.with_range {
            at += 1;
            left.push(at);
        }
    }
    for column in table.column_iter_mut() {
        // The table puts one blank between columns itself.
        column.set_padding((if column.index == 0 { 0 } else { gap - 1 }, 0));
        let alignment = match left.contains(&column.index) {
            true => CellAlignment::Left,
            false => CellAlignment::Right,
        };
        column.set_cell_alignment(alignment);
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

//! The results of one block size: a row per method and policy, the prediction below the measurement.

use super::screen::{Screen, Tone, printable};
use crate::label::{self, Mode};
use crate::metric::in_terminal;
use comfy_table::{Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, Table};
use comfy_table::{TableComponent, presets};
use q2c_result::tune::{Cell, Recommendation};

/// A line of the table: what it is about, and the numbers.
struct Row {
    /// In front of the first line of `about`.
    mark: &'static str,
    about: String,
    tone: Tone,
    numbers: Vec<Field>,
}

/// The table, framed by its rules, ending with a line feed.
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

/// Gives the names what room the numbers leave, and the columns a wider gap where that is enough.
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

/// Columns that are left for the names when the numbers stand `gap` apart; never less than a short word.
fn room(rows: &[Row], gap: usize, screen: Screen) -> usize {
    let mut numbers = Table::new();
    for row in rows {
        numbers.add_row(row.numbers.clone());
    }
    let widths = numbers.column_max_content_widths();
    let taken: usize = widths.iter().map(|width| usize::from(*width) + gap).sum();
    usize::from(screen.columns()).saturating_sub(taken).max(16)
}

/// The row as the table takes it, its name wrapped under itself.
fn fields(row: Row, room: usize, screen: Screen) -> Vec<Field> {
    let options = textwrap::Options::new(room)
        .initial_indent(row.mark)
        .subsequent_indent("    ");
    let about = textwrap::fill(&row.about, options);
    let mut fields = vec![screen.cell_of_lines(row.tone, &about)];
    fields.extend(row.numbers);
    fields
}

/// A table with a rule below the head and one at its end, in the colours of `screen`.
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

/// The table's lines without blanks at their ends.
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

/// The second line: the cell's role, what it really was when that is worth a word, and the prediction.
fn predicted(cell: &Cell, screen: Screen) -> Row {
    let (mut about, mut tone) = (cell.role.clone(), Tone::Dim);
    match label::mode(&cell.effective_mode) {
        Mode::AsAsked => {}
        Mode::ByOtherMeans => about += &format!("; {}", cell.effective_mode.was),
        Mode::Differs => {
            about += &format!("; was {}", cell.effective_mode.was);
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

/// Names below the first head, fields to the right of them; ends with a line feed.
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

/// Names to the left; all else to the right, never broken.
pub(super) fn align_plain(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// Names to the left; numbers to the right, never broken; the interval beside its median.
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
        // One blank stands between columns already.
        column.set_padding((if column.index == 0 { 0 } else { gap - 1 }, 0));
        let alignment = match left.contains(&column.index) {
            true => CellAlignment::Left,
            false => CellAlignment::Right,
        };
        column.set_cell_alignment(alignment);
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

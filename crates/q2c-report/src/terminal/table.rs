//! The results of one block size: a row per method and policy, the prediction below the measurement.

use super::screen::{Screen, Tone};
use crate::label::{self, Mode};
use crate::metric::METRICS;
use comfy_table::{
    Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets,
};
use q2c_result::tune::{Cell, Recommendation};

/// The table, framed by its rules, ending with a line feed.
pub(super) fn results(
    cells: &[&Cell],
    recommendation: Option<&Recommendation>,
    screen: Screen,
) -> String {
    let mut table = empty(screen);
    table.set_header(head(screen));
    for cell in cells {
        let recommended = label::is_recommended(cell, recommendation);
        table.add_row(measured(cell, recommended, screen));
        table.add_row(predicted(cell, screen));
    }
    align(&mut table);
    let text: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    text.join("\n") + "\n"
}

/// A table with a rule above, below the head and below, in the colours of `screen`.
pub(super) fn empty(screen: Screen) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(comfy_table::TableComponent::HeaderLines, '─')
        .set_style(comfy_table::TableComponent::MiddleHeaderIntersections, '─')
        .set_style(comfy_table::TableComponent::BottomBorder, '─')
        .set_style(comfy_table::TableComponent::BottomBorderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(screen.columns());
    match screen.colour {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    table
}

fn head(screen: Screen) -> Vec<Field> {
    let mut head = vec![screen.cell(Tone::Strong, "method and policy\nprediction below")];
    for metric in &METRICS {
        head.push(screen.cell(Tone::Strong, &format!("{}\n{}", metric.name, metric.unit)));
        if metric.with_range {
            head.push(screen.cell(Tone::Dim, "\n[min, max]"));
        }
    }
    head
}

fn measured(cell: &Cell, recommended: bool, screen: Screen) -> Vec<Field> {
    let tone = if recommended {
        Tone::Strong
    } else {
        Tone::Plain
    };
    let (mark, mark_tone) = if recommended {
        ("▸ ", Tone::Good)
    } else {
        ("  ", Tone::Plain)
    };
    let mut row = vec![screen.cell(mark_tone, &(mark.to_owned() + &label::cell(cell)))];
    for metric in &METRICS {
        row.push(screen.cell(tone, &metric.median(cell)));
        if metric.with_range {
            row.push(screen.cell(Tone::Dim, &metric.range(cell)));
        }
    }
    row
}

/// The second line: the cell's role, what it really was when that is worth a word, and the prediction.
fn predicted(cell: &Cell, screen: Screen) -> Vec<Field> {
    let (mut about, mut tone) = (format!("    {}", cell.role), Tone::Dim);
    match label::mode(&cell.effective_mode) {
        Mode::AsAsked => {}
        Mode::ByOtherMeans => about += &format!("; {}", cell.effective_mode.was),
        Mode::Differs => {
            about += &format!("; was {}", cell.effective_mode.was);
            tone = Tone::Bad;
        }
    }
    let mut row = vec![screen.cell(tone, &about)];
    for metric in &METRICS {
        row.push(screen.cell(Tone::Dim, &metric.predicted(cell)));
        if metric.with_range {
            row.push(Field::new(""));
        }
    }
    row
}

/// Names to the left and as wide as room is left; numbers to the right, never broken.
fn align(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((1, 0));
        if column.index == 0 {
            column.set_padding((0, 0));
            continue;
        }
        let range = column.index == 2;
        column.set_cell_alignment(match range {
            true => CellAlignment::Left,
            false => CellAlignment::Right,
        });
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

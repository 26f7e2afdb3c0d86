//! The results table of one block size, with two lines per method and policy: the measurement and
//! the prediction.

use super::{Column, Field, Table};
use crate::label;
use crate::metric::in_terminal;
use crate::mode::{self, Kept};
use crate::terminal::screen::{Screen, Tone};
use q2c_result::tune::{Cell, Recommendation};

/// Stands before further lines of a name.
const HANG: &str = "    ";

/// The results table of some cells, as text that ends with a line feed.
pub(in crate::terminal) fn results(
    cells: &[&Cell],
    recommendation: Option<&Recommendation>,
    screen: Screen,
) -> String {
    let mut table = Table::new(columns());
    for cell in cells {
        table.add(measured(cell, label::is_recommended(cell, recommendation)));
        table.add(predicted(cell));
    }
    let mut text = table.text(screen);
    if let Some(words) = mode::legend(cells.iter().map(|cell| &cell.effective_mode.was)) {
        text += &screen.legend(&words);
    }
    if screen.columns() < WIDE {
        text += &screen.legend(LEGEND);
    }
    text
}

/// From so many columns on each row is one line, under a head that tells of the prediction.
const WIDE: u16 = 120;

/// What the second line of a method is, for a screen on which its name has a line of its own.
const LEGEND: &str =
    "A method's second row: its role; what it ran as, if otherwise; the prediction.";

fn columns() -> Vec<Column> {
    let mut columns = vec![Column::words("method and policy\nprediction below")];
    for metric in in_terminal() {
        columns.push(Column::numbers(&format!(
            "{}\n{}",
            metric.name, metric.unit
        )));
        if metric.with_range {
            columns.push(
                Column::words("\n[min, max]")
                    .left()
                    .head_in(Tone::Dim)
                    .optional(),
            );
        }
    }
    columns
}

fn measured(cell: &Cell, recommended: bool) -> Vec<Field> {
    let (mark, of_name, of_numbers) = match recommended {
        true => ("▸ ", Tone::Good, Tone::Strong),
        false => ("  ", Tone::Plain, Tone::Plain),
    };
    let mut row = vec![Field::new(of_name, &label::cell(cell)).marked(mark, HANG)];
    for metric in in_terminal() {
        row.push(Field::new(of_numbers, &metric.median(cell)));
        if metric.with_range {
            row.push(Field::new(Tone::Dim, &metric.range(cell)));
        }
    }
    row
}

/// The second line of a cell: its role, its effective mode when that differs from the one asked
/// for, and the prediction.
fn predicted(cell: &Cell) -> Vec<Field> {
    let (mut about, mut tone) = (cell.role.text().to_owned(), Tone::Dim);
    match mode::kept(&cell.effective_mode) {
        Kept::AsAsked => {}
        Kept::ByOtherMeans => about += &format!("; {}", mode::words(&cell.effective_mode.was)),
        Kept::Differs => {
            about += &format!("; was {}", mode::words(&cell.effective_mode.was));
            tone = Tone::Bad;
        }
    }
    let mut row = vec![Field::new(tone, &about).marked(HANG, HANG)];
    for metric in in_terminal() {
        row.push(Field::new(Tone::Dim, &metric.predicted(cell)));
        if metric.with_range {
            row.push(Field::default());
        }
    }
    row
}

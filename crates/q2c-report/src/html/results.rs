//! The results table of one block size.

use super::chart::{Line, coloured};
use crate::label;
use crate::metric::METRICS;
use crate::mode::{self, Kept};
use crate::quantity;
use q2c_model::Bytes;
use q2c_result::tune::TuneResult;

/// The table in the form that the template takes.
pub(super) struct Results {
    /// Name and unit of each column.
    pub columns: Vec<(&'static str, &'static str)>,
    /// A row for each cell.
    pub rows: Vec<Row>,
}

/// The row of a cell.
pub(super) struct Row {
    pub name: String,
    pub role: String,
    /// Name of the cell's colour in the style sheet.
    pub colour: &'static str,
    pub recommended: bool,
    /// The effective mode, when it says more than the mode asked for.
    pub mode: Option<String>,
    /// Whether the effective mode is another method than was asked for.
    pub differs: bool,
    /// The counts that prove the effective mode.
    pub proof: String,
    /// I/Os in all trials; failed ones are named if there are any.
    pub ios: String,
    pub fields: Vec<Field>,
}

/// A number of a cell: measured median, interval and prediction, as text.
pub(super) struct Field {
    pub median: String,
    pub range: String,
    pub predicted: String,
}

/// Makes the table of one block size.
pub(super) fn of(result: &TuneResult, bs: Bytes) -> Results {
    Results {
        columns: METRICS.iter().map(|m| (m.name, m.unit)).collect(),
        rows: coloured(result, bs).iter().map(row).collect(),
    }
}

fn row(line: &Line<'_>) -> Row {
    let cell = line.cell;
    let mode = mode::kept(&cell.effective_mode);
    let field = |metric: &crate::metric::Metric| Field {
        median: metric.median(cell),
        range: metric.range(cell),
        predicted: metric.predicted(cell),
    };
    Row {
        name: label::cell(cell),
        role: cell.role.text().to_owned(),
        colour: line.colour.trim_start_matches('@'),
        recommended: line.recommended,
        mode: (mode != Kept::AsAsked).then(|| mode::words(&cell.effective_mode.was)),
        differs: mode == Kept::Differs,
        proof: label::proof(&cell.effective_mode),
        ios: format!("{} I/Os", quantity::count(cell.measured.ios)),
        fields: METRICS.iter().map(field).collect(),
    }
}

//! The cells of a block size with the names and colours that they keep through all plots.

use crate::label;
use crate::plot::{Coordinate, PlotSeries};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::tune::{Cell, TuneResult};

/// Colours for cells that are neither a baseline nor the recommended one.
const OTHERS: [&str; 6] = ["@a", "@b", "@c", "@d", "@e", "@f"];

pub(crate) struct CellLine<'a> {
    pub cell: &'a Cell,
    pub name: String,
    pub colour: &'static str,
    pub is_recommended: bool,
}

pub(crate) fn cell_lines(result: &TuneResult, bs: Bytes) -> Vec<CellLine<'_>> {
    let recommendation = label::recommendation_of(result, bs);
    let mut others = OTHERS.iter().cycle();
    let line = |cell| {
        let is_recommended = label::is_recommended(cell, recommendation);
        let colour = match cell.method {
            Method::POLL => "@poll",
            Method::INTERRUPT => "@interrupt",
            _ if is_recommended => "@chosen",
            _ => others.next().copied().unwrap_or("@a"),
        };
        CellLine {
            cell,
            name: label::cell(cell),
            colour,
            is_recommended,
        }
    };
    let cells = label::cells_of(result, bs).into_iter();
    cells.map(line).collect()
}

impl CellLine<'_> {
    /// A line through points; `unit` follows the number in the hover text.
    pub(crate) fn series<Y: Coordinate>(
        &self,
        points: impl IntoIterator<Item = (f64, Y)>,
        unit: &str,
    ) -> PlotSeries {
        PlotSeries::line(&self.name, points)
            .grouped()
            .pen(self.colour, if self.is_recommended { 2.6 } else { 1.4 })
            .unit(unit)
    }
}

//! The plots of `q2c tune` for each block size. Each cell keeps its name and colour in all plots.

use super::{calibration, latency, over_time, sweep};
use crate::label;
use crate::phrase::distinct;
use crate::plot::{Plot, PlotSeries, with_data};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::tune::{Cell, Sweep, TuneResult};
use serde_json::Value;

fn sweep(result: &TuneResult, bs: Bytes) -> Option<&Sweep> {
    result.sweeps.iter().find(|sweep| sweep.bs == bs)
}

pub(crate) fn answer(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let plot = sweep::pareto(sweep(result, bs), &cell_lines(result, bs));
    with_data([plot], &suffix(bs))
}

/// The plots of the cells over time, of their latencies, and of the sweep over two parameters.
pub(crate) fn details(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let lines = cell_lines(result, bs);
    let mut plots = vec![over_time::throughput(&lines), over_time::sleep(&lines)];
    plots.extend(over_time::late_time(&lines));
    plots.push(latency::plot(&lines));
    plots.extend(sweep(result, bs).map(sweep::heat_map));
    with_data(plots, &suffix(bs))
}

/// The plots of how well a block size is known: its calibration, and its predictions.
pub(crate) fn calibration_and_fidelity(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let calibration = result.calibration.iter().find(|costs| costs.bs == bs);
    let calibrations = calibration.into_iter().flat_map(calibration::plots);
    let fidelities = calibration::fidelity_plots(&cell_lines(result, bs));
    with_data(calibrations.chain(fidelities), &suffix(bs))
}

fn suffix(bs: Bytes) -> String {
    format!("-{}", bs.0)
}

/// The block sizes that have plots: those of the job and the cells, then those that only sweeps
/// or calibrations have.
pub(crate) fn block_sizes(result: &TuneResult) -> Vec<Bytes> {
    let swept = result.sweeps.iter().map(|sweep| sweep.bs);
    let calibrated = result.calibration.iter().map(|calibration| calibration.bs);
    let sizes = label::block_sizes(result).into_iter();
    distinct(sizes.chain(swept).chain(calibrated))
}

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
            name: label::method(&cell.method),
            colour,
            is_recommended,
        }
    };
    label::cells_of(result, bs).into_iter().map(line).collect()
}

impl CellLine<'_> {
    /// A line through points; `unit` follows the number in the hover text.
    pub(crate) fn series<Y: Into<Value>>(
        &self,
        points: impl IntoIterator<Item = (f64, Y)>,
        unit: &str,
    ) -> PlotSeries {
        let line = PlotSeries::line(&self.name, points).grouped().unit(unit);
        line.pen(self.colour, if self.is_recommended { 2.6 } else { 1.4 })
    }
}

//! The plots of `q2c tune`, by block size.

use super::cell_lines::cell_lines;
use super::{calibration, fidelity, heat_map, late, latency, over_time, pareto};
use crate::label;
use crate::plot::{Plot, with_data};
use q2c_model::Bytes;
use q2c_result::tune::TuneResult;

/// The plot that answers the question: IOPS against CPU.
pub(crate) fn answer(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let sweep = result.sweeps.iter().find(|sweep| sweep.bs == bs);
    let plot = pareto::plot(sweep, &cell_lines(result, bs));
    with_data([plot], &suffix(bs))
}

/// What the cells did over time, and how the sweep came to its best.
pub(crate) fn details(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let lines = cell_lines(result, bs);
    let sweep = result.sweeps.iter().find(|sweep| sweep.bs == bs);
    let mut plots = vec![over_time::throughput(&lines), over_time::sleep(&lines)];
    plots.extend(late::plots(&lines));
    plots.push(latency::plot(&lines));
    plots.extend(sweep.map(heat_map::plot));
    with_data(plots, &suffix(bs))
}

/// How well a block size is known: its calibration, and predictions beside what was measured.
pub(crate) fn knowledge(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let calibration = result.calibration.iter().find(|of| of.bs == bs);
    let mut plots: Vec<Plot> = Vec::new();
    plots.extend(calibration.into_iter().flat_map(calibration::plots));
    plots.extend(fidelity::plots(&cell_lines(result, bs)));
    with_data(plots, &suffix(bs))
}

fn suffix(bs: Bytes) -> String {
    format!("-{}", bs.0)
}

/// The block sizes that have plots: those of the job and the cells, then those that only sweeps
/// or calibrations have.
pub(crate) fn block_sizes(result: &TuneResult) -> Vec<Bytes> {
    let mut sizes = label::block_sizes(result);
    let swept = result.sweeps.iter().map(|sweep| sweep.bs);
    for bs in swept.chain(result.calibration.iter().map(|of| of.bs)) {
        if !sizes.contains(&bs) {
            sizes.push(bs);
        }
    }
    sizes
}

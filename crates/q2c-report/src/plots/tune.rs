//! The plots of `q2c tune`, by block size.

use super::cell_lines::cell_lines;
use super::{calibration, fidelity, heat_map, late, latency, over_time, pareto};
use crate::label;
use crate::phrase::distinct;
use crate::plot::{Plot, with_data};
use q2c_model::Bytes;
use q2c_result::tune::{Sweep, TuneResult};

fn sweep(result: &TuneResult, bs: Bytes) -> Option<&Sweep> {
    result.sweeps.iter().find(|sweep| sweep.bs == bs)
}

pub(crate) fn answer(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let plot = pareto::plot(sweep(result, bs), &cell_lines(result, bs));
    with_data([plot], &suffix(bs))
}

/// What the cells did over time, and how the sweep came to its best.
pub(crate) fn details(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let lines = cell_lines(result, bs);
    let mut plots = vec![over_time::throughput(&lines), over_time::sleep(&lines)];
    plots.extend(late::plots(&lines));
    plots.push(latency::plot(&lines));
    plots.extend(sweep(result, bs).map(heat_map::plot));
    with_data(plots, &suffix(bs))
}

/// How well a block size is known: its calibration, and predictions beside what was measured.
pub(crate) fn knowledge(result: &TuneResult, bs: Bytes) -> Vec<Plot> {
    let calibration = result
        .calibration
        .iter()
        .find(|calibration| calibration.bs == bs);
    let calibrations = calibration.into_iter().flat_map(calibration::plots);
    let fidelities = fidelity::plots(&cell_lines(result, bs));
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
    let known = label::block_sizes(result).into_iter();
    distinct(known.chain(swept).chain(calibrated))
}

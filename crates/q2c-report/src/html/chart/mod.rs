//! Charts as plotly figures.
//!
//! Colours are names (`@poll`); the page's script gives them values for the light and the dark
//! scheme. Names and hover texts are escaped for plotly where they enter a figure.

pub(crate) mod analysis;
mod axis;
mod calibration;
pub(crate) mod device_grids;
mod fidelity;
mod heat_map;
pub(crate) mod kernel_tune;
mod late;
mod latency;
mod line;
pub(crate) mod over_axes;
pub(crate) mod over_jobs;
mod over_time;
mod pareto;
pub(crate) mod phases;
pub(crate) mod place;
pub(crate) mod poll_search;
pub(crate) mod poll_study;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod scale;
mod series;
pub(crate) mod stages_over_jobs;
pub(crate) mod timeline;
pub(crate) mod tune_jobs;

use crate::label;
use q2c_model::Bytes;
use q2c_result::tune::{Sweep, TuneResult};
use q2c_stats::Interval;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A chart with its caption. It has one or more views, between which the reader switches.
pub(crate) struct Chart {
    /// Id of the chart's element; within a block size it is unique.
    pub id: String,
    /// Heading above the chart.
    pub title: Cow<'static, str>,
    /// Caption: how to read the chart.
    pub note: String,
    /// Height of the plot in CSS pixels.
    pub height: u32,
    /// Whether the chart takes the page's whole width.
    pub wide: bool,
    views: Vec<View>,
}

/// One way to draw a chart.
pub(crate) struct View {
    label: &'static str,
    traces: Vec<Value>,
    layout: Value,
}

impl Chart {
    /// The views as figures, for the page's script.
    pub(crate) fn figures(&self) -> Value {
        let view = |v: &View| json!({"label": v.label, "data": v.traces, "layout": v.layout});
        self.views.iter().map(view).collect()
    }

    /// Whether any view has something to draw.
    fn has_data(&self) -> bool {
        self.views.iter().any(|view| !view.traces.is_empty())
    }
}

/// The charts of one block size, in reading order; those without data are left out.
pub(crate) fn of_block_size(result: &TuneResult, bs: Bytes) -> Vec<Chart> {
    let cells = line::coloured(result, bs);
    let sweep = result.sweeps.iter().find(|sweep| sweep.bs == bs);
    let mut charts = vec![pareto::chart(sweep, &cells)];
    charts.push(over_time::throughput(&cells));
    charts.push(over_time::sleep(&cells));
    charts.extend(late::charts(&cells));
    charts.push(latency::chart(&cells));
    charts.extend(sweep.map(heat_map::chart));
    of_size(charts, bs)
}

/// The charts that say how well a block size is known: its calibration, and predictions beside what
/// was measured.
pub(crate) fn of_knowledge(result: &TuneResult, bs: Bytes) -> Vec<Chart> {
    let calibration = result.calibration.iter().find(|c| c.bs == bs);
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(calibration.into_iter().flat_map(calibration::charts));
    charts.extend(fidelity::charts(&line::coloured(result, bs)));
    of_size(charts, bs)
}

/// The charts that have data, with ids of the block size.
fn of_size(mut charts: Vec<Chart>, bs: Bytes) -> Vec<Chart> {
    charts.retain(Chart::has_data);
    for chart in &mut charts {
        chart.id = format!("{}-{}", chart.id, bs.0);
    }
    charts
}

/// The charts of a sweep alone.
pub(crate) fn of_sweep(sweep: &Sweep) -> Vec<Chart> {
    let mut charts = vec![pareto::chart(Some(sweep), &[]), heat_map::chart(sweep)];
    charts.retain(Chart::has_data);
    charts
}

/// The block sizes that have a panel: those of the job and the cells, then those that only sweeps
/// or calibrations have.
pub(crate) fn block_sizes(result: &TuneResult) -> Vec<Bytes> {
    let mut sizes = label::block_sizes(result);
    let others = result
        .sweeps
        .iter()
        .map(|s| s.bs)
        .chain(result.calibration.iter().map(|c| c.bs));
    for bs in others {
        if !sizes.contains(&bs) {
            sizes.push(bs);
        }
    }
    sizes
}

/// A number for a figure, with five significant digits: they are finer than a pixel, and keep the
/// page small. A number that is not finite becomes null, which is a gap.
fn value(number: f64) -> Value {
    match number.is_finite() {
        true => format!("{number:.4e}")
            .parse::<f64>()
            .map_or(Value::Null, Value::from),
        false => Value::Null,
    }
}

/// The median, and NaN where nothing was measured, which [`value`] does not draw.
fn known(interval: &Interval) -> f64 {
    match interval.trials {
        0 => f64::NAN,
        _ => interval.median,
    }
}

/// Numbers for a figure, each multiplied by `scale`.
fn values(numbers: &[f64], scale: f64) -> Value {
    numbers.iter().map(|n| value(n * scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_five_digits_and_gaps_stay_gaps() {
        assert_eq!(
            values(&[123_456.0, 0.1, f64::NAN, f64::INFINITY], 1.0),
            json!([123_460.0, 0.1, null, null])
        );
    }
}

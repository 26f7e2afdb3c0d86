//! Plots of the stages: their shares of Q2C, and their percentiles.

use super::{STAGES, middle_s};
use crate::analysis::{latency_name, load_range};
use crate::plot::{Plot, PlotAxis, PlotSeries, View};
use crate::plots::NS_TO_US;
use q2c_result::analyze::{AnalyzeResult, Bottleneck, StageStats};
use serde_json::Value;
use std::collections::BTreeMap;

/// A place on the x axis of the stacked plot: the mean Q2C there, and the shares of its stages.
pub(crate) struct StageStack<'a> {
    pub place: Value,
    pub mean_ns: f64,
    pub shares: &'a BTreeMap<String, f64>,
}

/// The mean time in each stage, stacked to the mean Q2C: a view over time and one over load.
pub(crate) fn where_time_goes(result: &AnalyzeResult) -> Plot {
    let views = result.bottleneck.iter().flat_map(|bottleneck| {
        let load = over_load(bottleneck, result.in_flight.most);
        [over_time(bottleneck), load].map(|view| view.bar_gap(0.0))
    });
    Plot::new("stages", "Where does the time between Q and C go?", 420)
        .note("Mean time of an I/O in each stage, stacked to the mean Q2C of the I/Os queued in a window of time, or at a number in flight.")
        .views(views)
}

fn over_time(bottleneck: &Bottleneck) -> View {
    let slices = bottleneck.over_time.iter().map(|window| StageStack {
        place: middle_s(window.start_ns, window.length_ns).into(),
        mean_ns: window.mean_q2c_ns,
        shares: &window.shares,
    });
    stacked("over time", PlotAxis::over_time("time, s"), slices)
}

fn over_load(bottleneck: &Bottleneck, most: Option<u64>) -> View {
    let slices = bottleneck.over_load.iter().map(|load| StageStack {
        place: match load_range(load, most) {
            (from, to) if from == to => from.to_string().into(),
            (from, to) => format!("{from} to {to}").into(),
        },
        mean_ns: load.mean_q2c_ns,
        shares: &load.shares,
    });
    let axis = PlotAxis::names("I/Os in flight when queued, itself included");
    stacked("over load", axis, slices)
}

/// Bars of the mean time in each stage, stacked on each other.
pub(crate) fn stacked<'a>(
    label: &'static str,
    axis: PlotAxis,
    slices: impl Iterator<Item = StageStack<'a>>,
) -> View {
    let slices: Vec<StageStack<'_>> = slices.collect();
    let bars = |(stage, colour): &(&str, &'static str)| {
        let time = |slice: &StageStack<'_>| Some(slice.shares.get(*stage)? * slice.mean_ns);
        let times: Vec<Option<f64>> = slices.iter().map(time).collect();
        let us = |(slice, time): (&StageStack<'_>, &Option<f64>)| {
            (slice.place.clone(), time.unwrap_or(0.0) * NS_TO_US)
        };
        let bars = PlotSeries::stacked_bars(*stage, slices.iter().zip(&times).map(us));
        let has_stage = times.iter().any(Option::is_some);
        has_stage.then(|| bars.colour(*colour).unit("us"))
    };
    View::new(label, axis, PlotAxis::from_zero("mean time, us"))
        .hover_together()
        .series(STAGES.iter().filter_map(bars))
}

type Percentile = (&'static str, fn(&StageStats) -> f64);

const PERCENTILES: [Percentile; 7] = [
    ("min", |s| s.min_ns as f64),
    ("50 %", |s| s.p50_ns),
    ("90 %", |s| s.p90_ns),
    ("99 %", |s| s.p99_ns),
    ("99.9 %", |s| s.p999_ns),
    ("99.99 %", |s| s.p9999_ns),
    ("max", |s| s.max_ns as f64),
];

pub(crate) fn percentiles(result: &AnalyzeResult) -> Plot {
    let total = latency_name(result.layer);
    let stages = STAGES.iter().chain(&[("Q2C", "@ink"), ("U2C", "@ink")]);
    let stages =
        stages.filter_map(|(name, colour)| Some(line(name, colour, result.stages.get(*name)?)));
    let colours = ["@a", "@poll", "@d", "@e", "@interrupt"];
    let operations = result.groups.get("op").into_iter().flatten().zip(colours);
    let operations = operations
        .filter_map(|(group, colour)| Some(line(&group.key, colour, group.stages.get(total)?)));
    let view = |label| {
        let x = PlotAxis::names("share of I/Os that are at most so long");
        View::new(label, x, PlotAxis::logarithmic_us("time"))
    };
    let by_operation = view("by operation").series(operations);
    Plot::new("percentiles", "How long are the slowest I/Os, and in which stage?", 420)
        .note(format!(
            "Percentiles of each stage by itself, and of {total}; they do not add up. Times of 0 are drawn at 1 ns."
        ))
        .view(view("by stage").series(stages))
        .views((by_operation.series.len() > 1).then_some(by_operation))
}

fn line(name: &str, colour: &'static str, stats: &StageStats) -> PlotSeries {
    let times = PERCENTILES.map(|(name, get)| (name, get(stats).max(1.0) * NS_TO_US));
    let line = PlotSeries::dotted_line(name, times);
    line.colour(colour).hover("{y} us at {x}")
}

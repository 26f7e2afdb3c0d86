//! Stages in the block layer and the use of the hardware queues over the number of jobs: a chart of
//! each for each interface and method.

use super::analysis::STAGES;
use super::analysis::stages::{Slice, stacked, view};
use super::{Chart, View, axis, value};
use crate::bench::Section;
use crate::html::escape::chart_text;
use crate::stages::{Seen, lines, seen};
use q2c_result::analyze::StageStats;
use q2c_result::bench::BenchResult;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const NS_TO_US: f64 = 1e-3;

/// The charts of a section's points whose stages are known. `id` tells the section from others.
pub(in crate::html) fn charts(result: &BenchResult, section: &Section, id: usize) -> Vec<Chart> {
    let all = lines(&seen(result, section)).into_iter().enumerate();
    let of_line = |(n, (name, mut points)): (usize, (String, Vec<Seen<'_>>))| {
        points.sort_by_key(|(cell, _)| cell.point.jobs);
        [
            Some(times(&name, &points, format!("stages-{id}-{n}"))),
            queues(&name, &points, format!("queues-{id}-{n}")),
        ]
    };
    let all = all.flat_map(of_line).flatten();
    all.filter(Chart::has_data).collect()
}

fn times(name: &str, points: &[Seen<'_>], id: String) -> Chart {
    let nothing = BTreeMap::new();
    let slices: Vec<Slice<'_>> = points
        .iter()
        .map(|(cell, run)| {
            let mean = run.stages.get("Q2C").map_or(f64::NAN, |of| of.mean_ns);
            let found = run.bottleneck.as_ref();
            let shares = found.map_or(&nothing, |found| &found.shares);
            (f64::from(cell.point.jobs), mean, shares)
        })
        .collect();
    let mut mean = view("mean", stacked(&slices, Some(&jobs(points))), &over_jobs());
    mean.layout["bargap"] = json!(0.3);
    Chart {
        id,
        title: "Where does the time between Q and C go, over the number of jobs?".into(),
        note: format!(
            "{name}, in a run of each point with the block layer captured. Mean: the mean time in \
             each stage, stacked to the mean Q2C. Percentiles are of each stage by itself; they do \
             not add up."
        ),
        height: 420,
        wide: true,
        views: vec![
            mean,
            percentiles("p50", points, |of| of.p50_ns),
            percentiles("p99", points, |of| of.p99_ns),
        ],
    }
}

/// The numbers of jobs as names on an axis.
fn jobs(points: &[Seen<'_>]) -> Vec<String> {
    let jobs = points.iter().map(|(cell, _)| cell.point.jobs.to_string());
    jobs.collect()
}

fn over_jobs() -> Value {
    let mut axis = axis::titled("jobs");
    axis["type"] = json!("category");
    axis
}

fn percentiles(label: &'static str, points: &[Seen<'_>], of: fn(&StageStats) -> f64) -> View {
    let trace = |(stage, colour): &(&str, &str)| {
        let of_point = |(_, run): &Seen<'_>| run.stages.get(*stage).map_or(f64::NAN, of);
        let y: Vec<f64> = points.iter().map(of_point).collect();
        y.iter().any(|ns| ns.is_finite()).then(|| {
            json!({
                "type": "scatter", "mode": "lines+markers", "name": stage, "x": jobs(points),
                // A logarithmic axis has no 0.
                "y": y.iter().map(|ns| value(ns.max(1.0) * NS_TO_US)).collect::<Vec<Value>>(),
                "line": {"color": colour, "width": 2}, "marker": {"color": colour, "size": 7},
                "hovertemplate": "%{y} us at %{x} jobs",
            })
        })
    };
    let stages = STAGES.iter().chain(&[("Q2C", "@ink")]);
    View {
        label,
        traces: stages.filter_map(trace).collect(),
        layout: axis::single(&over_jobs(), &axis::logarithmic_us("time")),
    }
}

/// The share of each hardware queue in the requests; `None` where there is a single one, or where
/// they are not known.
fn queues(name: &str, points: &[Seen<'_>], id: String) -> Option<Chart> {
    let mut all: BTreeSet<(&str, u32)> = BTreeSet::new();
    for (_, run) in points {
        for device in &run.queues {
            let own = device.all.queues.iter();
            all.extend(own.map(|queue| (device.device.as_str(), queue.hctx)));
        }
    }
    let share = |(_, run): &Seen<'_>, (device, hctx): (&str, u32)| -> Option<f64> {
        let device = run.queues.iter().find(|of| of.device == device)?;
        let queue = device.all.queues.iter().find(|of| of.hctx == hctx)?;
        Some(queue.share * 100.0)
    };
    let row = |queue: &(&str, u32)| -> Vec<Option<f64>> {
        points.iter().map(|point| share(point, *queue)).collect()
    };
    let name_of = |(device, hctx): &(&str, u32)| chart_text(&format!("{device} queue {hctx}"));
    let names = all.iter().map(name_of);
    let map = json!({
        "type": "heatmap",
        "x": jobs(points),
        "y": names.collect::<Vec<String>>(),
        "z": all.iter().map(row).collect::<Vec<_>>(),
        "colorscale": "@scale", "xgap": 1, "ygap": 1, "hoverongaps": false, "zmin": 0,
        "colorbar": {"title": {"text": "%"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{z:.1f} % of the requests in %{y} at %{x} jobs<extra></extra>",
    });
    let mut rows = axis::titled("");
    rows["type"] = json!("category");
    (all.len() > 1).then(|| Chart {
        id,
        title: "Which hardware queues take the requests, over the number of jobs?".into(),
        note: format!(
            "{name}. Share of each queue in the device's requests; queues without a request have \
             0 %."
        ),
        height: 380,
        wide: true,
        views: vec![View {
            label: "share",
            traces: vec![map],
            layout: axis::single(&over_jobs(), &rows),
        }],
    })
}

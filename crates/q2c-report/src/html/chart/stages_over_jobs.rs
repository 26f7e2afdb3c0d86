//! Stages in the block layer and the use of the hardware queues over the number of jobs: a chart of
//! each for each interface and method.

use super::analysis::STAGES;
use super::analysis::stages::{Slice, stacked, view};
use super::{Chart, View, axis, value};
use crate::bench::Section;
use crate::html::escape::chart_text;
use crate::stages::{Seen, lines, seen};
use q2c_result::analyze::StageStats;
use q2c_result::bench::{BenchResult, StageRun};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const NS_TO_US: f64 = 1e-3;

/// The charts of a section's points whose stages are known. `id` tells the section from others.
pub(crate) fn charts(result: &BenchResult, section: &Section, id: usize) -> Vec<Chart> {
    let all = lines(&seen(result, section)).into_iter().enumerate();
    let of_line = |(n, (name, mut points)): (usize, (String, Vec<Seen<'_>>))| {
        points.sort_by_key(|(cell, _)| cell.point.jobs);
        let times = match points.as_slice() {
            [(cell, run)] => of_point(&name, cell.point.jobs, run),
            several => times(&name, several),
        };
        let id_of = |what: &str| format!("{what}-{id}-{n}");
        [
            Some(Chart {
                id: id_of("stages"),
                ..times
            }),
            queues(&name, &points, id_of("queues")),
        ]
    };
    let all = all.flat_map(of_line).flatten();
    all.filter(Chart::has_data).collect()
}

/// A figure of a stage: its name, its colour, and the function that reads it.
type Figure = (&'static str, &'static str, fn(&StageStats) -> f64);

/// The stages of a point that is the only one of its line: they are the axis, because bars over one
/// number of jobs compare nothing.
fn of_point(name: &str, jobs: u32, run: &StageRun) -> Chart {
    let figures: [Figure; 3] = [
        ("mean", "@a", |of| of.mean_ns),
        ("p50", "@e", |of| of.p50_ns),
        ("p99", "@poll", |of| of.p99_ns),
    ];
    let there: Vec<(&str, &StageStats)> = STAGES
        .iter()
        .map(|(stage, _)| *stage)
        .chain(["Q2C"])
        .filter_map(|stage| Some((stage, run.stages.get(stage)?)))
        .collect();
    let trace = |(label, colour, of): Figure| {
        let heights = there.iter().map(|(_, stats)| value(of(stats) * NS_TO_US));
        json!({
            "type": "bar", "name": label,
            "x": there.iter().map(|(stage, _)| *stage).collect::<Vec<&str>>(),
            "y": heights.collect::<Vec<Value>>(),
            "marker": {"color": colour}, "hovertemplate": "%{y} us",
        })
    };
    let traces: Vec<Value> = match there.is_empty() {
        true => Vec::new(),
        false => figures.into_iter().map(trace).collect(),
    };
    let mut stages = axis::titled("stage");
    stages["type"] = json!("category");
    Chart {
        id: String::new(),
        title: "Where does the time between Q and C go?".into(),
        note: format!(
            "{name}, {}, in a run of its own with the block layer captured. Each stage by itself; \
             percentiles do not add up.",
            crate::course::jobs(jobs)
        ),
        height: 380,
        wide: true,
        views: vec![View {
            label: "stages",
            traces,
            layout: axis::single(&stages, &axis::from_zero("time, us")),
        }],
    }
}

fn times(name: &str, points: &[Seen<'_>]) -> Chart {
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
        id: String::new(),
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

/// A hardware queue: its device and its number.
type Queue<'a> = (&'a str, u32);

/// The share of each hardware queue in the requests; `None` where there is a single one, or where
/// they are not known.
fn queues(name: &str, points: &[Seen<'_>], id: String) -> Option<Chart> {
    let mut all: BTreeSet<Queue<'_>> = BTreeSet::new();
    for (_, run) in points {
        for device in &run.queues {
            let own = device.all.queues.iter();
            all.extend(own.map(|queue| (device.device.as_str(), queue.hctx)));
        }
    }
    let (title, view) = match points {
        [point] => (
            "Which hardware queues take the requests?",
            shares(point, &all),
        ),
        several => (
            "Which hardware queues take the requests, over the number of jobs?",
            shares_over_jobs(several, &all),
        ),
    };
    (all.len() > 1).then(|| Chart {
        id,
        title: title.into(),
        note: format!(
            "{name}. Share of each queue in the device's requests; queues without a request have \
             0 %."
        ),
        height: 380,
        wide: true,
        views: vec![view],
    })
}

fn share((_, run): &Seen<'_>, (device, hctx): Queue<'_>) -> Option<f64> {
    let device = run.queues.iter().find(|of| of.device == device)?;
    let queue = device.all.queues.iter().find(|of| of.hctx == hctx)?;
    Some(queue.share * 100.0)
}

fn names(all: &BTreeSet<Queue<'_>>) -> Vec<String> {
    let name = |(device, hctx): &Queue<'_>| chart_text(&format!("{device} queue {hctx}"));
    all.iter().map(name).collect()
}

fn by_queue() -> Value {
    let mut axis = axis::titled("");
    axis["type"] = json!("category");
    axis
}

/// Bars of one point.
fn shares(point: &Seen<'_>, all: &BTreeSet<Queue<'_>>) -> View {
    let shares = all.iter().map(|queue| share(point, *queue));
    let bars = json!({
        "type": "bar", "x": names(all), "y": shares.collect::<Vec<Option<f64>>>(),
        "marker": {"color": "@a"},
        "hovertemplate": "%{y:.1f} % of the requests in %{x}<extra></extra>",
    });
    View {
        label: "share",
        traces: vec![bars],
        layout: axis::single(&by_queue(), &axis::from_zero("share of the requests, %")),
    }
}

fn shares_over_jobs(points: &[Seen<'_>], all: &BTreeSet<Queue<'_>>) -> View {
    let row = |queue: &Queue<'_>| -> Vec<Option<f64>> {
        points.iter().map(|point| share(point, *queue)).collect()
    };
    let map = json!({
        "type": "heatmap",
        "x": jobs(points),
        "y": names(all),
        "z": all.iter().map(row).collect::<Vec<_>>(),
        "colorscale": "@scale", "xgap": 1, "ygap": 1, "hoverongaps": false, "zmin": 0,
        "colorbar": {"title": {"text": "%"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{z:.1f} % of the requests in %{y} at %{x} jobs<extra></extra>",
    });
    View {
        label: "share",
        traces: vec![map],
        layout: axis::single(&over_jobs(), &by_queue()),
    }
}

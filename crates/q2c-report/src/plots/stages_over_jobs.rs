//! Block-layer stages and the use of hardware queues over the number of jobs, each in a plot for
//! each interface and method.

use super::NS_TO_US;
use super::analysis::STAGES;
use super::analysis::stages::{StageStack, stacked};
use crate::bench::BenchSection;
use crate::course;
use crate::phrase::when;
use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View, grid, with_data};
use crate::stages::{CellStages, lines, seen};
use q2c_result::analyze::StageStats;
use q2c_result::bench::{BenchResult, StageRun};
use std::collections::{BTreeMap, BTreeSet};

/// The plots of a section's points whose stages are known. `id` makes the plots' ids unique.
pub(crate) fn plots(result: &BenchResult, section: &BenchSection, id: usize) -> Vec<Plot> {
    let lines = lines(&seen(result, section)).into_iter().enumerate();
    let plots = lines.flat_map(|(n, (name, mut points))| {
        points.sort_by_key(|(cell, _)| cell.point.jobs);
        let times = match points.as_slice() {
            [(cell, run)] => times_of_point(&name, cell.point.jobs, run),
            several => times(&name, several),
        };
        let plots = [Some(times), queues(&name, &points)];
        with_data(plots.into_iter().flatten(), &format!("-{id}-{n}"))
    });
    plots.collect()
}

/// The stages of a line's only point. The stages are the x axis, because one number of jobs has
/// nothing to compare with.
fn times_of_point(name: &str, jobs: u32, run: &StageRun) -> Plot {
    let stages = STAGES.iter().map(|(stage, _)| *stage).chain(["Q2C"]);
    let known = stages.filter_map(|stage| Some((stage, run.stages.get(stage)?)));
    let known: Vec<(&'static str, &StageStats)> = known.collect();
    let bars = |label, colour, get: fn(&StageStats) -> f64| {
        let height = |(stage, stats): &(&'static str, &StageStats)| (*stage, get(stats) * NS_TO_US);
        let bars = PlotSeries::bars(label, known.iter().map(height));
        bars.colour(colour).unit("us").if_any()
    };
    let series = [
        bars("mean", "@a", |stats| stats.mean_ns),
        bars("p50", "@e", |stats| stats.p50_ns),
        bars("p99", "@poll", |stats| stats.p99_ns),
    ];
    let time = PlotAxis::from_zero("time, us");
    let view = View::new("stages", PlotAxis::names("stage"), time);
    Plot::new("stages", "Where does the time between Q and C go?", 380)
        .note(format!(
            "{name}, {}, in a run of its own with the block layer captured. Each stage by itself; \
             percentiles do not add up.",
            course::jobs(jobs)
        ))
        .view(view.series(series.into_iter().flatten()))
}

fn times(name: &str, points: &[CellStages<'_>]) -> Plot {
    const TITLE: &str = "Where does the time between Q and C go, over the number of jobs?";
    let nothing = BTreeMap::new();
    let slices = points.iter().map(|(cell, run)| {
        let (whole, bottleneck) = (run.stages.get("Q2C"), run.bottleneck.as_ref());
        StageStack {
            place: cell.point.jobs.to_string().into(),
            mean_ns: whole.map_or(f64::NAN, |stats| stats.mean_ns),
            shares: bottleneck.map_or(&nothing, |bottleneck| &bottleneck.shares),
        }
    });
    Plot::new("stages", TITLE, 420)
        .note(format!(
            "{name}, in a run of each point with the block layer captured. Mean: the mean time in \
             each stage, stacked to the mean Q2C. Percentiles are of each stage by itself; they do \
             not add up."
        ))
        .view(stacked("mean", PlotAxis::names("jobs"), slices).bar_gap(0.3))
        .view(percentile("p50", points, |stats| stats.p50_ns))
        .view(percentile("p99", points, |stats| stats.p99_ns))
}

fn percentile(label: &'static str, points: &[CellStages<'_>], get: fn(&StageStats) -> f64) -> View {
    let line = |(stage, colour): &(&str, &'static str)| {
        let times = points.iter().map(|(cell, run)| {
            let ns = run.stages.get(*stage).map_or(f64::NAN, get);
            (cell.point.jobs.to_string(), ns)
        });
        let is_known = times.clone().any(|(_, ns)| ns.is_finite());
        // A logarithmic axis has no 0, so times below 1 ns are drawn at 1 ns.
        let times = times.map(|(jobs, ns)| (jobs, ns.max(1.0) * NS_TO_US));
        let line = PlotSeries::dotted_line(*stage, times).size(7.0);
        is_known.then(|| line.colour(*colour).hover("{y} us at {x} jobs"))
    };
    let (x, y) = (PlotAxis::names("jobs"), PlotAxis::logarithmic_us("time"));
    View::new(label, x, y).series(STAGES.iter().chain(&[("Q2C", "@ink")]).filter_map(line))
}

type QueueKey<'a> = (&'a str, u32);

/// The share of each hardware queue in the requests; `None` if there is a single queue or the
/// queues are unknown.
fn queues(name: &str, points: &[CellStages<'_>]) -> Option<Plot> {
    let devices = points.iter().flat_map(|(_, run)| &run.queues);
    let queues = devices.flat_map(|device| {
        let queues = device.all.queues.iter();
        queues.map(move |queue| (&*device.device, queue.hctx))
    });
    let queues: BTreeSet<QueueKey<'_>> = queues.collect();
    let queues: Vec<QueueKey<'_>> = queues.into_iter().collect();
    let view = match points {
        [point] => shares(point, &queues),
        several => shares_over_jobs(several, &queues),
    };
    let over = when(points.len() != 1, ", over the number of jobs");
    let title = format!("Which hardware queues take the requests{over}?");
    let note = format!(
        "{name}. Share of each queue in the device's requests; queues without a request have \
         0 %."
    );
    (queues.len() > 1).then(|| Plot::new("queues", title, 380).note(note).view(view))
}

fn share((_, run): &CellStages<'_>, (device, hctx): &QueueKey<'_>) -> Option<f64> {
    let device = run.queues.iter().find(|entry| entry.device == *device)?;
    let queue = device.all.queues.iter().find(|queue| queue.hctx == *hctx)?;
    Some(queue.share * 100.0)
}

fn queue_name((device, hctx): &QueueKey<'_>) -> String {
    format!("{device} queue {hctx}")
}

fn shares(point: &CellStages<'_>, queues: &[QueueKey<'_>]) -> View {
    let shares = queues.iter();
    let shares = shares.map(|queue| (queue_name(queue), share(point, queue)));
    let bars = PlotSeries::bars("", shares).colour("@a");
    let y = PlotAxis::from_zero("share of the requests, %");
    View::new("share", PlotAxis::names(""), y)
        .series([bars.hover_alone("{y:.1f} % of the requests in {x}")])
}

fn shares_over_jobs(points: &[CellStages<'_>], queues: &[QueueKey<'_>]) -> View {
    let names = queues.iter().map(queue_name).collect();
    let jobs = points.iter().map(|(cell, _)| cell.point.jobs.to_string());
    let map = PlotSeries::heat_map(jobs.collect(), names, grid(points, queues, share)).spaced();
    View::new("share", PlotAxis::names("jobs"), PlotAxis::names(""))
        .colours(Colours::new("%"))
        .series([map.hover_alone("{z:.1f} % of the requests in {y} at {x} jobs")])
}

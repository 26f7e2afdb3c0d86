//! Plots over the number of jobs: of a benchmark, of its stages in the block layer and of its use
//! of hardware queues, of `q2c tune`, and of a prediction beyond the measured points.

use super::NS_TO_US;
use super::analysis::{STAGES, StageStack, stacked};
use crate::bench::{BenchSection, name};
use crate::phrase::{counted, grouped, when};
use crate::plot::{
    Colours, Plot, PlotAxis, PlotMark, PlotSeries, Quantity, Style, View, Whiskers, grid, styles,
    with_data,
};
use crate::stages::{CellStages, lines, runs};
use crate::{label, mode};
use q2c_model::Bytes;
use q2c_model::stats::Interval;
use q2c_policy::Method;
use q2c_result::analyze::StageStats;
use q2c_result::bench::{BenchCell, BenchResult, StageRun, ThroughputCurve};
use q2c_result::role::{CellRole, Role};
use q2c_result::scale::{CurvePoint, ScaleResult};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;
use std::collections::{BTreeMap, BTreeSet};

/// The views of the plot. The first one marks knee and collapse, which are those of its IOPS.
pub(crate) const QUANTITIES: [Quantity<BenchCell, Interval>; 6] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |c| c.iops),
    Quantity::new("p50", "median latency, us", 1e-3, |c| c.lat_ns.p50),
    Quantity::new("p99", "p99 latency, us", 1e-3, |c| c.lat_ns.p99),
    Quantity::new("CPU", "busy CPUs of the machine", 1.0, |c| c.cpu.busy_s),
    Quantity::new("KIOPS per core", "KIOPS per busy CPU", 1.0, |c| {
        c.kiops_per_core
    }),
    Quantity::new("CPU per I/O", "us of jobs and helpers per I/O", 1e-3, |c| {
        c.cpu.ns_per_io
    }),
];

/// Returns `None` for a single number of jobs, because all points would lie above each other.
pub(crate) fn plot(result: &BenchResult, section: &BenchSection, id: usize) -> Option<Plot> {
    let jobs: BTreeSet<u32> = section.cells(result).map(|c| c.point.jobs).collect();
    let measured = section.cells(result).filter(|c| c.iops.trials > 0);
    let lines = grouped(measured.map(|cell| (name(&cell.point), cell)));
    let view = |(n, quantity): (usize, &Quantity<BenchCell, Interval>)| {
        let mut view = quantity.view(PlotAxis::from_zero("jobs").ticks(jobs.iter().copied()));
        for ((line, cells), style) in lines.iter().zip(&styles(lines.len())) {
            let points = cells.iter().map(|cell| (f64::from(cell.point.jobs), *cell));
            let modes = cells.iter();
            let modes = modes.map(|cell| mode::label(&cell.effective_mode.mode));
            let series = quantity.medians(line, points).style(style).texts(modes);
            let series = series.size(7.0).hover("{y} at {x} jobs; was {text}");
            view = view.series([series]);
            let is_own = |c: &&ThroughputCurve| name(&c.first) == *line && section.covers(&c.first);
            let curve = result.scaling.iter().find(is_own).filter(|_| n == 0);
            let curve = curve.into_iter();
            view = view.series(curve.flat_map(|curve| marks(curve, style, cells)));
        }
        view
    };
    let plot = Plot::new(format!("jobs-{id}"), "Over the number of jobs", 460)
        .note(
            "Medians with [min, max] over the trials. Open squares: knee, further jobs add less than a tenth of the first. Crosses: \
             collapse, throughput has fallen for sure.",
        )
        .views(QUANTITIES.iter().enumerate().map(view));
    (jobs.len() > 1).then_some(plot)
}

fn marks(
    curve: &ThroughputCurve,
    style: &Style,
    cells: &[&BenchCell],
) -> impl Iterator<Item = PlotSeries> {
    let mark = move |jobs: Option<u32>, symbol, name: &'static str| {
        let cell = cells.iter().find(|c| Some(c.point.jobs) == jobs)?;
        let place = (f64::from(cell.point.jobs), cell.iops.median * 1e-3);
        let mark = PlotSeries::dots(name, [place]).unlisted();
        let mark = mark.colour(&style.colour).size(15.0).symbol(symbol);
        let mark = mark.edge(&style.colour, 2.0);
        Some(mark.hover_alone(format!("{name} at {{x}} jobs")))
    };
    let knee = mark(curve.knee, "square-open", "knee").into_iter();
    knee.chain(mark(curve.collapse, "x-thin", "collapse"))
}

/// The plots of a section's points whose stages are known. `id` makes the plots' ids unique.
pub(crate) fn stage_plots(result: &BenchResult, section: &BenchSection, id: usize) -> Vec<Plot> {
    let lines = lines(&runs(result, section)).into_iter().enumerate();
    let plots = lines.flat_map(|(n, (name, mut points))| {
        points.sort_by_key(|(cell, _)| cell.point.jobs);
        let times = match points.as_slice() {
            [(cell, run)] => stage_times_of_point(&name, cell.point.jobs, run),
            several => stage_times(&name, several),
        };
        let plots = [Some(times), queue_plot(&name, &points)];
        with_data(plots.into_iter().flatten(), &format!("-{id}-{n}"))
    });
    plots.collect()
}

/// The stages of a line's only point. The stages are the x axis, because one number of jobs has
/// nothing to compare with.
fn stage_times_of_point(name: &str, jobs: u32, run: &StageRun) -> Plot {
    let stages = STAGES.iter().map(|(stage, _)| *stage).chain(["Q2C"]);
    let present = stages.filter_map(|stage| Some((stage, run.stages.get(stage)?)));
    let present: Vec<(&'static str, &StageStats)> = present.collect();
    let bars = |label, colour, get: fn(&StageStats) -> f64| {
        let height = |(stage, stats): &(&'static str, &StageStats)| (*stage, get(stats) * NS_TO_US);
        let bars = PlotSeries::bars(label, present.iter().map(height));
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
            counted(jobs, "job")
        ))
        .view(view.series(series.into_iter().flatten()))
}

fn stage_times(name: &str, points: &[CellStages<'_>]) -> Plot {
    const TITLE: &str = "Where does the time between Q and C go, over the number of jobs?";
    let nothing = BTreeMap::new();
    let stacks = points.iter().map(|(cell, run)| {
        let (q2c, bottleneck) = (run.stages.get("Q2C"), run.bottleneck.as_ref());
        StageStack {
            place: cell.point.jobs.to_string().into(),
            mean_ns: q2c.map_or(f64::NAN, |stats| stats.mean_ns),
            shares: bottleneck.map_or(&nothing, |bottleneck| &bottleneck.shares),
        }
    });
    Plot::new("stages", TITLE, 420)
        .note(format!(
            "{name}, in a run of each point with the block layer captured. Mean: the mean time in \
             each stage, stacked to the mean Q2C. Percentiles are of each stage by itself; they do \
             not add up."
        ))
        .view(stacked("mean", PlotAxis::names("jobs"), stacks).bar_gap(0.3))
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
fn queue_plot(name: &str, points: &[CellStages<'_>]) -> Option<Plot> {
    let devices = points.iter().flat_map(|(_, run)| &run.queues);
    let queues = devices.flat_map(|device| {
        let queues = device.all.queues.iter();
        queues.map(move |queue| (&*device.device, queue.hctx))
    });
    let queues: BTreeSet<QueueKey<'_>> = queues.collect();
    let queues: Vec<QueueKey<'_>> = queues.into_iter().collect();
    let view = match points {
        [point] => share_bars(point, &queues),
        several => share_map(several, &queues),
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

fn share_bars(point: &CellStages<'_>, queues: &[QueueKey<'_>]) -> View {
    let shares = queues.iter();
    let shares = shares.map(|queue| (queue_name(queue), share(point, queue)));
    let bars = PlotSeries::bars("", shares).colour("@a");
    let y = PlotAxis::from_zero("share of the requests, %");
    View::new("share", PlotAxis::names(""), y)
        .series([bars.hover_alone("{y:.1f} % of the requests in {x}")])
}

fn share_map(points: &[CellStages<'_>], queues: &[QueueKey<'_>]) -> View {
    let names = queues.iter().map(queue_name).collect();
    let jobs = points.iter().map(|(cell, _)| cell.point.jobs.to_string());
    let map = PlotSeries::heat_map(jobs.collect(), names, grid(points, queues, share)).spaced();
    View::new("share", PlotAxis::names("jobs"), PlotAxis::names(""))
        .colours(Colours::new("%"))
        .series([map.hover_alone("{z:.1f} % of the requests in {y} at {x} jobs")])
}

/// A line: its name, its colour, and a function that says if a cell of a run belongs to it.
type LineOver = (&'static str, &'static str, fn(&Cell, &TuneResult) -> bool);

const RECOMMENDED: &str = "recommended";
const TUNE_LINES: [LineOver; 4] = [
    ("interrupt", "@interrupt", |c, _| {
        c.method == Method::INTERRUPT
    }),
    ("poll", "@poll", |c, _| c.method == Method::POLL),
    ("Linux's rule", "@a", |c, _| {
        c.role == CellRole::Known(Role::Linux)
    }),
    (RECOMMENDED, "@chosen", |c, run| {
        label::is_recommended(c, label::recommendation_of(run, c.bs))
    }),
];

const TUNE_QUANTITIES: [Quantity<Cell, Interval>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |c| c.measured.rates.iops),
    Quantity::new("KIOPS per core", "KIOPS per busy CPU", 1.0, |c| {
        c.measured.kiops_per_core
    }),
    Quantity::new("CPU", "CPU, % of one per job", 1.0, |c| {
        c.measured.rates.cpu_pct
    }),
    // Methods without a sleep have no misses, and no point.
    Quantity::new("miss rate", "missed, %", 100.0, |c| {
        let miss_rate = c.measured.rates.miss_rate;
        Some(miss_rate).filter(|_| c.sleeping).unwrap_or_default()
    }),
];

/// The plot of one block size; none if nothing was measured.
pub(crate) fn tune_plots(result: &TuneJobsResult, bs: Bytes) -> Vec<Plot> {
    let view = |quantity: &Quantity<Cell, Interval>| {
        let x = PlotAxis::from_zero("jobs").ticks(result.runs.iter().map(|run| run.job.jobs));
        let series = |(name, colour, is_of): &LineOver| {
            let points = result.runs.iter().filter_map(|run| {
                let mut cells = run.cells.iter();
                let cell = cells.find(|cell| cell.bs == bs && is_of(cell, run))?;
                let is_measured = (quantity.value)(cell).trials > 0;
                is_measured.then_some((f64::from(run.job.jobs), cell))
            });
            let names = points.clone().map(|(_, cell)| label::method(&cell.method));
            let series = quantity.medians(name, points).texts(names);
            let width = if *name == RECOMMENDED { 2.6 } else { 1.4 };
            let series = series.pen(*colour, width).size(7.0);
            series.hover("{y} at {x} jobs: {text}").if_any()
        };
        quantity
            .view(x)
            .series(TUNE_LINES.iter().filter_map(series))
    };
    let plot = Plot::new("jobs", "Over the number of jobs", 420)
        .note(format!(
            "{bs}. Medians with [min, max] over the trials. The recommended method is that of each number of jobs; it may be \
             another one at each."
        ))
        .views(TUNE_QUANTITIES.iter().map(view));
    with_data([plot], &format!("-{}", bs.0))
}

pub(crate) fn scale_plot(result: &ScaleResult) -> Plot {
    let (measured, predicted): (Vec<CurvePoint>, Vec<CurvePoint>) =
        result.curve.iter().partition(|point| point.measured);
    let [x, y] = ["jobs", "KIOPS"].map(PlotAxis::from_zero);
    let predicted = prediction(&predicted).into_iter();
    let series = predicted.chain([measured_points(&measured)]);
    let end = result.ends_at;
    let end = end.map(|jobs| PlotMark::vertical_limit(f64::from(jobs), "end"));
    let view = View::new("IOPS", x, y).series(series.filter_map(PlotSeries::if_any));
    Plot::new("scale", "Over the number of jobs", 460)
        .note("Solid points: measured, with [min, max] over the trials. Dashed with a band: a prediction, never measured.")
        .view(view.marks(end))
}

fn throughput(
    points: &[CurvePoint],
    get: fn(&CurvePoint) -> f64,
) -> impl Iterator<Item = (f64, f64)> {
    let points = points.iter();
    points.map(move |point| (f64::from(point.jobs), get(point) * 1e-3))
}

/// The upper edge of the band, its lower edge, from which it is filled upwards, and the prediction.
fn prediction(points: &[CurvePoint]) -> [PlotSeries; 3] {
    let line = |name, get| {
        let line = PlotSeries::line(name, throughput(points, get));
        line.colour("@chosen").dash("dash")
    };
    let edge = |get| {
        let edge = line("95 %", get).width(0.5).opacity(0.4);
        edge.unlisted().without_hover()
    };
    let middle = line("predicted", |p| p.iops).width(1.6);
    [
        edge(|p| p.high),
        edge(|p| p.low).filled(),
        middle.hover("{y} KIOPS, predicted"),
    ]
}

fn measured_points(points: &[CurvePoint]) -> PlotSeries {
    let reach = |p: &CurvePoint| ((p.iops - p.low) * 1e-3, (p.high - p.iops) * 1e-3);
    let line = PlotSeries::dotted_line("measured", throughput(points, |p| p.iops))
        .y_whiskers(Whiskers::from_reach(points.iter().map(reach)));
    let line = line.pen("@interrupt", 1.6).size(8.0);
    line.hover("{y} KIOPS, measured")
}

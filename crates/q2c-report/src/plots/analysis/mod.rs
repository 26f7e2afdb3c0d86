//! Plots of a trace's analysis: the stages with their shares of Q2C and their percentiles, latency,
//! throughput and I/Os in flight over time, and single I/Os in lanes by CPU or hardware queue. Each
//! title is a question that its plot answers.

use crate::analysis::{latency_name, load_range};
use crate::phrase::counted;
use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View, grid, with_data};
use crate::plots::NS_TO_US;
use crate::quantity::{count, duration};
use q2c_result::analyze::{
    AnalyzeResult, Bottleneck, ExcerptIo, Hctx, IoVolume, Load, StageStats, Throughput,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

mod offsets;

/// Stages with the names of their colours, in the order of a request's life.
pub(crate) const STAGES: [(&str, &str); 8] = [
    ("Q2G", "@bad"),
    ("G2I", "@d"),
    ("Q2M", "@b"),
    ("I2D", "@caution"),
    ("G2D", "@e"),
    ("M2D", "@f"),
    ("D2C", "@a"),
    ("rest", "@interrupt"),
];

const READS: &str = "@a";
const WRITES: &str = "@poll";

/// Plots of fewer I/Os state their number, because their shapes may be chance.
const FEW_IOS: u64 = 1000;

/// The plots of an analysis, in reading order; a plot without data is left out.
pub(crate) fn plots(result: &AnalyzeResult) -> Vec<Plot> {
    let plots_over_time = [latency, in_flight, throughput];
    let mut plots = vec![time_by_stage(result)];
    plots.extend(plots_over_time.map(|plot| plot(result)));
    plots.extend(offsets::plots(result));
    plots.push(percentiles(result));
    plots.push(queues(result));
    plots.extend(excerpts(result));
    let mut plots = with_data(plots, "");
    if result.requests < FEW_IOS {
        let suffix = format!(" Of {}.", counted(result.requests, "I/O"));
        plots.iter_mut().for_each(|plot| plot.note += &suffix);
    }
    plots
}

/// The middle of a window of time, seconds.
fn middle_s(start_ns: u64, length_ns: u64) -> f64 {
    (start_ns + length_ns / 2) as f64 * 1e-9
}

/// The requests of each hardware queue, and the CPUs that submitted them.
fn queues(result: &AnalyzeResult) -> Plot {
    let queues = &result.hctx[..];
    let note = result.balance.as_ref().map_or_else(String::new, |b| {
        format!(
            "{} over {} queues: standard deviation {:.1} % of the mean, chi-square p = {:.2e}. Line: the mean.",
            b.verdict,
            b.queues,
            b.cv * 100.0,
            b.p
        )
    });
    let names = || PlotAxis::names("hardware queue");
    let mut requests = View::new("requests", names(), PlotAxis::from_zero("requests"));
    let mut from_cpus = View::new("from CPUs", PlotAxis::names("submitting CPU"), names());
    if queues.len() > 1 {
        requests = requests.series(request_bars(queues));
        from_cpus = from_cpus.series([cpu_map(queues)]);
    }
    Plot::new("queues", "Are the hardware queues used evenly?", 420)
        .note(note)
        .view(requests)
        .view(from_cpus.colours(Colours::new("requests")))
}

fn queue_name(queue: &Hctx) -> String {
    queue.hctx.to_string()
}

fn request_bars(queues: &[Hctx]) -> [PlotSeries; 2] {
    let requests = queues.iter();
    let requests = requests.map(|queue| (queue_name(queue), queue.requests as f64));
    let mean = queues.iter().map(|queue| queue.requests).sum::<u64>() as f64 / queues.len() as f64;
    let bars = PlotSeries::bars("requests", requests).exact().colour("@a");
    let line = PlotSeries::line("mean", queues.iter().map(|queue| (queue_name(queue), mean)));
    [
        bars.hover_alone("{y} requests of queue {x}"),
        line.pen("@ink", 1.5).dash("dot").without_hover(),
    ]
}

fn cpu_map(queues: &[Hctx]) -> PlotSeries {
    let cpus = queues.iter().flat_map(|queue| queue.cpus.keys().copied());
    let cpus: BTreeSet<u32> = cpus.collect();
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let requests = |cpu, queue: &Hctx| Some(*queue.cpus.get(cpu)? as f64);
    let rows = grid(&cpus, queues, requests);
    let names = cpus.iter().map(u32::to_string).collect();
    let map = PlotSeries::heat_map(names, queues.iter().map(queue_name).collect(), rows);
    let map = map.exact().spaced();
    map.hover_alone("{z} requests from CPU {x} to queue {y}")
}

/// A place on the x axis of the stacked plot: the mean Q2C there, and the shares of its stages.
pub(crate) struct StageStack<'a> {
    pub place: Value,
    pub mean_ns: f64,
    pub shares: &'a BTreeMap<String, f64>,
}

/// The mean time in each stage, stacked to the mean Q2C: a view over time and one over load.
fn time_by_stage(result: &AnalyzeResult) -> Plot {
    let views = result.bottleneck.iter().flat_map(|bottleneck| {
        let load = stages_over_load(bottleneck, result.in_flight.most);
        [stages_over_time(bottleneck), load].map(|view| view.bar_gap(0.0))
    });
    Plot::new("stages", "Where does the time between Q and C go?", 420)
        .note("Mean time of an I/O in each stage, stacked to the mean Q2C of the I/Os queued in a window of time, or at a number in flight.")
        .views(views)
}

fn stages_over_time(bottleneck: &Bottleneck) -> View {
    let stacks = bottleneck.over_time.iter().map(|window| StageStack {
        place: middle_s(window.start_ns, window.length_ns).into(),
        mean_ns: window.mean_q2c_ns,
        shares: &window.shares,
    });
    stacked("over time", PlotAxis::over_time("time, s"), stacks)
}

fn stages_over_load(bottleneck: &Bottleneck, most: Option<u64>) -> View {
    let stacks = bottleneck.over_load.iter().map(|load| StageStack {
        place: match load_range(load, most) {
            (from, to) if from == to => from.to_string().into(),
            (from, to) => format!("{from} to {to}").into(),
        },
        mean_ns: load.mean_q2c_ns,
        shares: &load.shares,
    });
    let axis = PlotAxis::names("I/Os in flight when queued, itself included");
    stacked("over load", axis, stacks)
}

/// Bars of the mean time in each stage, stacked on each other.
pub(crate) fn stacked<'a>(
    label: &'static str,
    axis: PlotAxis,
    stacks: impl Iterator<Item = StageStack<'a>>,
) -> View {
    let stacks: Vec<StageStack<'_>> = stacks.collect();
    let bars = |(stage, colour): &(&str, &'static str)| {
        let time = |stack: &StageStack<'_>| Some(stack.shares.get(*stage)? * stack.mean_ns);
        let times: Vec<Option<f64>> = stacks.iter().map(time).collect();
        let us = |(stack, time): (&StageStack<'_>, &Option<f64>)| {
            (stack.place.clone(), time.unwrap_or(0.0) * NS_TO_US)
        };
        let bars = PlotSeries::stacked_bars(*stage, stacks.iter().zip(&times).map(us));
        let has_stage = times.iter().any(Option::is_some);
        has_stage.then(|| bars.colour(*colour).unit("us"))
    };
    View::new(label, axis, PlotAxis::from_zero("mean time, us"))
        .unified_hover()
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

fn percentiles(result: &AnalyzeResult) -> Plot {
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

/// Ticks of a colour bar of powers of ten; the index is the exponent.
const POWER_TICKS: [&str; 8] = ["1", "10", "100", "1 K", "10 K", "100 K", "1 M", "10 M"];

/// A figure at the middle of each window.
fn over_time(loads: &[Load], get: fn(&Load) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let loads = loads.iter();
    loads.map(move |load| (middle_s(load.start_ns, load.length_ns), get(load)))
}

fn latency(result: &AnalyzeResult) -> Plot {
    let loads = &result.over_time;
    let latencies = loads.iter().flat_map(|load| &load.latencies);
    let lower_ends: BTreeSet<u64> = latencies.map(|(end, _)| *end).collect();
    let range = lower_ends.first().zip(lower_ends.last());
    let map = range.map(|(first, last)| heat_map(loads, &classes(*first, *last)));
    let colours = Colours::new("I/Os\nper s").ticks((0..).map(f64::from).zip(POWER_TICKS));
    let view = View::over_time("heat map", PlotAxis::logarithmic_us("latency"));
    Plot::new("latency", "How long do I/Os take, and when does that change?", 420)
        .note(
            "Colour: I/Os per second (logarithmic) of a latency, by the time at which they were queued. A band is a usual way; a second band \
             or a cloud above it is another.",
        )
        .view(view.colours(colours).series(map))
}

/// The lower ends of all latency classes from `first` to `last`, ns, four per doubling. Classes
/// without I/Os are included, so that all rows have the same height.
fn classes(first: u64, last: u64) -> Vec<u64> {
    let next = |end: &u64| {
        let octave = end.max(&1).ilog2();
        let step = if octave < 2 { *end } else { 1 << (octave - 2) };
        end.checked_add(step).filter(|next| *next <= last)
    };
    std::iter::successors(Some(first), next).collect()
}

fn heat_map(loads: &[Load], classes: &[u64]) -> PlotSeries {
    let times = over_time(loads, |_| 0.0).map(|(middle, _)| middle);
    // A cell is drawn around its value; 1.09 times the lower end is about the middle of a class.
    let middles = classes.iter().map(|end| *end as f64 * 1.09 * 1e-3);
    let rows = grid(loads, classes, |load, class| log10_iops(load, *class));
    PlotSeries::heat_map(times.collect(), middles.collect(), rows)
        .hover_alone("{y:.3g} us at {x} s")
}

/// log10 of the I/Os per second in a latency class; `None` without I/Os.
fn log10_iops(load: &Load, class: u64) -> Option<f64> {
    let (_, ios) = load.latencies.iter().find(|(end, _)| *end == class)?;
    Some((*ios as f64 / (load.length_ns as f64 * 1e-9)).log10())
}

fn in_flight(result: &AnalyzeResult) -> Plot {
    let loads = &result.over_time;
    let line = |name: &str, colour: &'static str, get: fn(&Load) -> f64| {
        let line = PlotSeries::line(name, over_time(loads, get));
        line.pen(colour, 1.5).hover("{y}")
    };
    let per_ms = |load: &Load| load.requests as f64 / load.length_ns as f64 * 1e6;
    let rate_line = line("KIOPS", "@accent", per_ms);
    let plot = Plot::new("in-flight", "How loaded is the device over time?", 420);
    let kiops = PlotAxis::from_zero("KIOPS");
    if loads.iter().all(|load| load.latencies.is_empty()) {
        let note = "I/Os queued per second. The trace has no completions, so how many were in flight is unknown.";
        let view = View::over_time("load", kiops).series(rate_line.if_any());
        return plot.note(note).view(view);
    }
    let note = "I/Os in flight from Q to C, mean over each window, and I/Os queued per second. Near 0 between peaks: it idles.";
    let in_flight = line("in flight", "@a", |load| load.in_flight);
    let view = View::over_time("load", PlotAxis::from_zero("in flight")).with_lower(kiops);
    let view = view.series([in_flight, rate_line.lower()]);
    plot.note(note).view(view)
}

fn throughput(result: &AnalyzeResult) -> Plot {
    let mib = |moved: &IoVolume| moved.bytes as f64 / f64::from(1u32 << 20);
    Plot::new("throughput", "How much is read and written?", 380)
        .note("Reads and writes with data, by the time at which they began; means over windows.")
        .view(rates(&result.throughput, "IOPS", |moved| moved.ios as f64))
        .view(rates(&result.throughput, "MiB/s", mib))
}

/// The rates of reads and of writes, in `unit` per second.
fn rates(windows: &[Throughput], unit: &'static str, get: fn(&IoVolume) -> f64) -> View {
    let line = |name, colour, moved: fn(&Throughput) -> &IoVolume| {
        let rate = |w: &Throughput| get(moved(w)) / (w.length_ns.max(1) as f64 * 1e-9);
        let point = |w: &Throughput| (middle_s(w.start_ns, w.length_ns), rate(w));
        let line = PlotSeries::line(name, windows.iter().map(point)).unit(unit);
        let has_any = windows.iter().any(|window| moved(window).ios > 0);
        has_any.then(|| line.pen(colour, 1.5))
    };
    let view = View::over_time(unit, PlotAxis::from_zero(unit)).legend(true);
    view.unified_hover()
        .series(line("reads", READS, |window| &window.reads))
        .series(line("writes", WRITES, |window| &window.writes))
}

/// The largest number of I/Os drawn of one excerpt, to keep the page small. The excerpts of the
/// start and of the slowest I/Os are shorter anyway.
const MAX_DRAWN_IOS: usize = 512;

/// A way to sort I/Os into lanes: the word for a lane, and the lane of an I/O.
type ExcerptLanes = (&'static str, fn(&ExcerptIo) -> Option<u32>);

const BY_CPU: ExcerptLanes = ("CPU", |io| io.cpu);
const BY_QUEUE: ExcerptLanes = ("queue", |io| io.hctx);

/// The labels of an excerpt's views, by CPU and by queue.
fn view_labels(excerpt: &str) -> Option<(&'static str, &'static str)> {
    match excerpt {
        "start" => Some(("start, by CPU", "start, by queue")),
        "slowest" => Some(("around the slowest, by CPU", "around the slowest, by queue")),
        "window" => Some(("window, by CPU", "window, by queue")),
        _ => None,
    }
}

/// All excerpts, each by CPU and, if the trace names hardware queues, by queue. `None` if the trace
/// has no completions.
fn excerpts(result: &AnalyzeResult) -> Option<Plot> {
    if result.completed == 0 {
        return None;
    }
    let mut views = Vec::new();
    let mut left_out = 0;
    for excerpt in &result.excerpts {
        let ios = &excerpt.ios[..excerpt.ios.len().min(MAX_DRAWN_IOS)];
        left_out += excerpt.left_out + (excerpt.ios.len() - ios.len()) as u64;
        let (by_cpu, by_queue) = view_labels(&excerpt.what)?;
        views.push(excerpt_view(ios, by_cpu, BY_CPU));
        if ios.iter().any(|io| io.hctx.is_some()) {
            views.push(excerpt_view(ios, by_queue, BY_QUEUE));
        }
    }
    let more = match left_out {
        0 => String::new(),
        n => format!(" {} more I/Os of the window have no room here.", count(n)),
    };
    let plot = Plot::new("excerpts", "What happens to single I/Os?", 560)
        .note(format!(
            "A line for each I/O from Q to C, its stages coloured, above each other where they overlap; the dot where it completes tells what it is. Drag to zoom. \
             Any other window: q2c analyze --window FROM..TO, or q2c trace export --format chrome.{more}"
        ))
        .views(views);
    Some(plot)
}

fn excerpt_view(ios: &[ExcerptIo], label: &'static str, (kind, lane_of): ExcerptLanes) -> View {
    let (rows, lowest) = lane_rows(ios, lane_of);
    let y = PlotAxis::new("").named_ticks(lowest.iter().map(|(lane, row)| {
        let lane = lane.map_or_else(|| "unknown".to_owned(), |lane| lane.to_string());
        (*row as f64, format!("{kind} {lane}"))
    }));
    let stages = (0..STAGES.len()).filter_map(|nth| stage_lines(ios, &rows, nth));
    let view = View::new(label, PlotAxis::new("time, us"), y);
    view.series(stages).series([completion_dots(ios, &rows)])
}

/// The row of each I/O, and the lowest row of each lane. An I/O takes the lowest row of its lane
/// that is free at its start.
fn lane_rows(
    ios: &[ExcerptIo],
    lane_of: fn(&ExcerptIo) -> Option<u32>,
) -> (Vec<usize>, BTreeMap<Option<u32>, usize>) {
    let mut lanes: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
    let mut row_in_lane = Vec::new();
    for io in ios {
        let rows = lanes.entry(lane_of(io)).or_default();
        let (from, to) = first_and_last_ns(io);
        let free = rows.iter().position(|busy_until| *busy_until <= from);
        let row = free.unwrap_or_else(|| {
            rows.push(0);
            rows.len() - 1
        });
        rows[row] = to;
        row_in_lane.push(row);
    }
    let (mut lowest, mut next_row) = (BTreeMap::new(), 0);
    for (lane, rows) in lanes {
        lowest.insert(lane, next_row);
        next_row += rows.len() + 1;
    }
    let rows = ios.iter().zip(row_in_lane);
    let rows = rows.map(|(io, row)| lowest[&lane_of(io)] + row).collect();
    (rows, lowest)
}

/// The first and the last known time of an I/O, ns.
fn first_and_last_ns(io: &ExcerptIo) -> (u64, u64) {
    let before = [io.queue_ns, io.getrq_ns, io.insert_ns, io.issue_ns];
    let times = before.into_iter().chain([io.complete_ns]).flatten();
    (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
}

/// Start and end of a stage, ns; `None` if the I/O lacks the stage.
fn stage_ends(io: &ExcerptIo, name: &str) -> Option<(u64, u64)> {
    let (from, to) = match (name, io.merged, io.insert_ns.is_some()) {
        ("Q2G", false, _) | ("Q2M", true, _) => (io.queue_ns, io.getrq_ns),
        ("G2I", false, true) => (io.getrq_ns, io.insert_ns),
        ("I2D", false, true) => (io.insert_ns, io.issue_ns),
        ("G2D", false, false) | ("M2D", true, _) => (io.getrq_ns, io.issue_ns),
        ("D2C", ..) => (io.issue_ns, io.complete_ns),
        ("rest", ..) if io.issue_ns.is_none() => (io.queue_ns, io.complete_ns),
        _ => (None, None),
    };
    from.zip(to)
}

/// One stage of all I/Os: pieces of a line with gaps between them.
fn stage_lines(ios: &[ExcerptIo], rows: &[usize], nth: usize) -> Option<PlotSeries> {
    let (name, colour) = STAGES[nth];
    let (mut points, mut texts) = (Vec::new(), Vec::new());
    for (io, row) in ios.iter().zip(rows) {
        if let Some((from, to)) = stage_ends(io, name) {
            let row = *row as f64;
            points.extend([(to_us(from), row), (to_us(to), row), (f64::NAN, f64::NAN)]);
            let (begin, end) = first_and_last_ns(io);
            let took = duration(to.saturating_sub(from) as f64);
            let text = format!("{name} {took} of {} in all", duration((end - begin) as f64));
            texts.extend([text.clone(), text, String::new()]);
        }
    }
    let line = PlotSeries::line(name, points).exact().texts(texts);
    line.pen(colour, 7.0).hover_alone("{text}").if_any()
}

/// Dots at the completions. Their hover text describes the I/O, once for all of its stages.
fn completion_dots(ios: &[ExcerptIo], rows: &[usize]) -> PlotSeries {
    let complete = ios.iter().zip(rows).filter_map(|(io, row)| {
        let place = (to_us(io.complete_ns?), *row as f64);
        Some((place, io_text(io)))
    });
    let (points, texts): (Vec<_>, Vec<_>) = complete.unzip();
    let dots = PlotSeries::dots("complete", points).exact().texts(texts);
    dots.colour("@ink").size(4.0).hover_alone("{text}")
}

fn to_us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn io_text(io: &ExcerptIo) -> String {
    let pid = io.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let (op, bytes, sector, device) = (&io.op, io.bytes, io.sector, &io.device);
    format!("{op} of {bytes} bytes at sector {sector} of {device}{pid}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_heat_map_have_no_gaps() {
        assert_eq!(classes(4, 16), [4, 5, 6, 7, 8, 10, 12, 14, 16]);
        assert_eq!(classes(1, 4), [1, 2, 4]);
        assert_eq!(classes(896, 896), [896]);
    }

    fn io(cpu: u32, queue: u64, complete: u64) -> ExcerptIo {
        ExcerptIo {
            cpu: Some(cpu),
            queue_ns: Some(queue),
            complete_ns: Some(complete),
            ..ExcerptIo::default()
        }
    }

    #[test]
    fn overlapping_ios_stand_above_each_other() {
        let ios = [io(0, 0, 10), io(0, 5, 20), io(0, 10, 12), io(1, 0, 3)];
        let (rows, lowest) = lane_rows(&ios, |io| io.cpu);
        assert_eq!(rows, [0, 1, 0, 3]);
        assert_eq!(lowest, BTreeMap::from([(Some(0), 0), (Some(1), 3)]));
    }
}

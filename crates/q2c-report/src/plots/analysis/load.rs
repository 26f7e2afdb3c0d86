//! Latency, throughput and I/Os in flight over time.

use super::{READS, WRITES, middle_s};
use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View, grid};
use q2c_result::analyze::{AnalyzeResult, Load, Moved, Throughput};
use std::collections::BTreeSet;

/// Ticks of a colour bar of powers of ten; the index is the exponent.
const POWERS: [&str; 8] = ["1", "10", "100", "1 K", "10 K", "100 K", "1 M", "10 M"];

/// A figure at the middle of each window.
fn over_time(loads: &[Load], get: fn(&Load) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let loads = loads.iter();
    loads.map(move |load| (middle_s(load.start_ns, load.length_ns), get(load)))
}

pub(crate) fn latency(result: &AnalyzeResult) -> Plot {
    let loads = &result.over_time;
    let latencies = loads.iter().flat_map(|load| &load.latencies);
    let seen: BTreeSet<u64> = latencies.map(|(end, _)| *end).collect();
    let range = seen.first().zip(seen.last());
    let map = range.map(|(first, last)| heat_map(loads, &classes(*first, *last)));
    let colours = Colours::new("I/Os\nper s").ticks((0..).map(f64::from).zip(POWERS));
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
    let rows = grid(loads, classes, |load, class| rate(load, *class));
    PlotSeries::heat_map(times.collect(), middles.collect(), rows)
        .hover_alone("{y:.3g} us at {x} s")
}

/// log10 of the I/Os per second in a latency class; `None` without I/Os.
fn rate(load: &Load, class: u64) -> Option<f64> {
    let (_, ios) = load.latencies.iter().find(|(end, _)| *end == class)?;
    Some((*ios as f64 / (load.length_ns as f64 * 1e-9)).log10())
}

pub(crate) fn in_flight(result: &AnalyzeResult) -> Plot {
    let loads = &result.over_time;
    let line = |name: &str, colour: &'static str, get: fn(&Load) -> f64| {
        let line = PlotSeries::line(name, over_time(loads, get));
        line.pen(colour, 1.5).hover("{y}")
    };
    let per_ms = |load: &Load| load.requests as f64 / load.length_ns as f64 * 1e6;
    let queued = line("KIOPS", "@accent", per_ms);
    let plot = Plot::new("in-flight", "How loaded is the device over time?", 420);
    let kiops = PlotAxis::from_zero("KIOPS");
    if loads.iter().all(|load| load.latencies.is_empty()) {
        let note = "I/Os queued per second. The trace has no completions, so how many were in flight is unknown.";
        let view = View::over_time("load", kiops).series(queued.if_any());
        return plot.note(note).view(view);
    }
    let note = "I/Os in flight from Q to C, mean over each window, and I/Os queued per second. Near 0 between peaks: it idles.";
    let in_flight = line("in flight", "@a", |load| load.in_flight);
    let view = View::over_time("load", PlotAxis::from_zero("in flight")).above(kiops);
    let view = view.series([in_flight, queued.below()]);
    plot.note(note).view(view)
}

pub(crate) fn throughput(result: &AnalyzeResult) -> Plot {
    let mib = |moved: &Moved| moved.bytes as f64 / f64::from(1u32 << 20);
    Plot::new("throughput", "How much is read and written?", 380)
        .note("Reads and writes with data, by the time at which they began; means over windows.")
        .view(rates(&result.throughput, "IOPS", |moved| moved.ios as f64))
        .view(rates(&result.throughput, "MiB/s", mib))
}

/// The rates of reads and of writes, in `unit` per second.
fn rates(windows: &[Throughput], unit: &'static str, get: fn(&Moved) -> f64) -> View {
    let line = |name, colour, moved: fn(&Throughput) -> &Moved| {
        let rate = |w: &Throughput| get(moved(w)) / (w.length_ns.max(1) as f64 * 1e-9);
        let point = |w: &Throughput| (middle_s(w.start_ns, w.length_ns), rate(w));
        let line = PlotSeries::line(name, windows.iter().map(point)).unit(unit);
        let has_any = windows.iter().any(|window| moved(window).ios > 0);
        has_any.then(|| line.pen(colour, 1.5))
    };
    let view = View::over_time(unit, PlotAxis::from_zero(unit)).legend(true);
    view.hover_together()
        .series(line("reads", READS, |window| &window.reads))
        .series(line("writes", WRITES, |window| &window.writes))
}

#[cfg(test)]
mod tests {
    use super::classes;

    #[test]
    fn rows_of_the_heat_map_have_no_gaps() {
        assert_eq!(classes(4, 16), [4, 5, 6, 7, 8, 10, 12, 14, 16]);
        assert_eq!(classes(1, 4), [1, 2, 4]);
        assert_eq!(classes(896, 896), [896]);
    }
}

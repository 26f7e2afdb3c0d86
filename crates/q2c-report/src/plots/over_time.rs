//! The cells of a block size over the time of one trial, and late time over the time of its run:
//! the parts of U2C, and each miss.

use super::NS_TO_US;
use super::tune::CellLine;
use crate::late;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, View};
use q2c_result::late::{LateRun, LateTime, Miss};
use q2c_result::tune;

const QUANTITIES: [Quantity<tune::Series, Vec<Option<f64>>>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |s| s.rates.iops.clone()),
    Quantity::new("CPU", "CPU, % of one", 1.0, |s| s.rates.cpu_pct.clone()),
    Quantity::new("mean latency", "mean latency, us", NS_TO_US, |s| {
        known(&s.mean_ns)
    }),
    Quantity::new("p99 latency", "p99 latency, us", NS_TO_US, |s| {
        known(&s.p99_ns)
    }),
];

/// IOPS, CPU or latency of every cell over time, with the miss rate below.
pub(crate) fn throughput(lines: &[CellLine<'_>]) -> Plot {
    let view = |quantity: &Quantity<tune::Series, Vec<Option<f64>>>| {
        let upper = measured(lines).map(|line| {
            let figures = (quantity.of)(&line.cell.series);
            over_time(line, &figures, quantity.scale, quantity.unit())
        });
        view(quantity.label, quantity.axis).series(upper.chain(sleeping(lines).map(miss_rate)))
    };
    Plot::new("over-time", "Throughput and miss rate over time", 460)
        .note(
            "The trial with the median IOPS of each cell. A miss is an I/O that was complete before \
             its sleep ended; only sleeping cells can miss.",
        )
        .views(QUANTITIES.iter().map(view))
}

/// Sleep asked and time slept of each sleeping cell over time, with the miss rate below.
pub(crate) fn sleep(lines: &[CellLine<'_>]) -> Plot {
    let series_of = |line: &CellLine<'_>| {
        let series = &line.cell.series;
        let slept = over_time(line, &known(&series.slept_ns), NS_TO_US, "us slept");
        [
            over_time(line, &series.rates.effective_sleep_ns, NS_TO_US, "us asked"),
            slept.dash("dot").unlisted(),
            miss_rate(line),
        ]
    };
    Plot::new("sleep-over-time", "Sleep and miss rate over time", 440)
        .note(
            "Solid: effective sleep (asked, over all I/Os). Dotted: slept, from call to return, over those that \
             slept. Where every I/O slept, the wake-up delay lies between them.",
        )
        .view(view("sleep", "sleep, us").series(sleeping(lines).flat_map(series_of)))
}

fn view(label: &'static str, upper: &str) -> View {
    View::over_time(label, PlotAxis::new(upper)).above(PlotAxis::from_zero("miss rate, %"))
}

fn measured<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    lines.iter().filter(|line| !line.cell.series.t_s.is_empty())
}

fn sleeping<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    measured(lines).filter(|line| line.cell.sleeping)
}

/// A line through a cell's figures over time, with a gap at each missing reading.
fn over_time(line: &CellLine<'_>, figures: &[Option<f64>], scale: f64, unit: &str) -> PlotSeries {
    let figures = figures.iter().map(|figure| Some((*figure)? * scale));
    line.series(line.cell.series.t_s.iter().copied().zip(figures), unit)
}

fn miss_rate(line: &CellLine<'_>) -> PlotSeries {
    let rates = &line.cell.series.rates.miss_rate;
    over_time(line, rates, 100.0, "% missed").below().unlisted()
}

fn known(figures: &[f64]) -> Vec<Option<f64>> {
    figures.iter().copied().map(Some).collect()
}

/// Colours of the parts, in the order of time. Device, oversleep and wake-up must differ clearly.
const COLOURS: [&str; 6] = ["@a", "@poll", "@b", "@chosen", "@f", "@c"];

pub(crate) fn late_time(lines: &[CellLine<'_>]) -> Vec<Plot> {
    let seen = lines.iter().filter_map(|line| match &line.cell.late {
        Some(late @ LateTime::Seen(run)) => Some((line, late, run)),
        _ => None,
    });
    let plots = seen.enumerate().map(|(n, (line, late, run))| {
        let view = View::new("parts", PlotAxis::from_zero("time, s"), PlotAxis::from_zero("U2C, us"));
        let view = view.above(PlotAxis::from_zero("lateness, us"));
        Plot::new(format!("late-time-{n}"), "Late time", 460)
            .note(format!(
                "{}, in a run of its own with the block layer captured. Above: the mean parts of U2C by interval, \
                 stacked. Where the device rises, I/Os were late by the device; where the oversleep rises, by the \
                 sleep that the rule asked for; where the wake-up rises, by the timer, the CPU or the scheduler. \
                 Below: the misses. {}.",
                line.name,
                late::sentences(late).join("; ")
            ))
            .view(view.series(parts(run)).series(misses(run)))
    });
    plots.collect()
}

/// The mean parts of U2C by interval. An interval without I/Os is a gap.
fn parts(run: &LateRun) -> impl Iterator<Item = PlotSeries> {
    let coloured = late::PARTS.iter().zip(COLOURS).enumerate();
    coloured.map(move |(n, (name, colour))| {
        let part = run.intervals.iter().map(|interval| {
            let parts = interval.numbers.parts;
            let part = parts.map(|parts| parts.in_order()[n] * NS_TO_US);
            (interval.end_s, part)
        });
        PlotSeries::area(*name, part).pen(colour, 1.0).unit("us")
    })
}

/// The misses as points: those that had the device to themselves, and those with other requests
/// beside them.
fn misses(run: &LateRun) -> impl Iterator<Item = PlotSeries> {
    let (beside, alone): (Vec<&Miss>, Vec<&Miss>) =
        run.misses_kept.iter().partition(|miss| miss.others > 0);
    let lateness = |miss: &Miss| {
        let late_ns = miss.oversleep_ns + miss.wakeup_ns;
        (miss.t_s, late_ns as f64 * NS_TO_US)
    };
    let dots = move |name, colour, misses: Vec<&Miss>| {
        let dots = PlotSeries::dots(name, misses.into_iter().map(lateness)).below();
        dots.colour(colour).size(4.0).unit("us").if_any()
    };
    let alone = dots("miss, alone on the device", "@d", alone);
    let beside = dots("miss, beside others", "@e", beside);
    alone.into_iter().chain(beside)
}

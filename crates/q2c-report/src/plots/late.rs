//! Late time of a cell over the time of its run: the parts of U2C, and the misses one by one.

use super::NS_TO_US;
use super::cell_lines::CellLine;
use crate::late;
use crate::plot::{Plot, PlotAxis, PlotSeries, View};
use q2c_result::late::{LateRun, LateTime, Miss};

/// Colours of the parts, in the order of time. Device, oversleep and wake-up are to be told apart.
const COLOURS: [&str; 6] = ["@a", "@poll", "@b", "@chosen", "@f", "@c"];

pub(crate) fn plots(lines: &[CellLine<'_>]) -> Vec<Plot> {
    let seen = lines.iter().filter_map(|line| match &line.cell.late {
        Some(late @ LateTime::Seen(run)) => Some((line, late, run)),
        _ => None,
    });
    let plots = seen.enumerate().map(|(n, (line, late, run))| {
        let x = PlotAxis::from_zero("time, s");
        let view = View::new("parts", x, PlotAxis::from_zero("U2C, us"))
            .above(PlotAxis::from_zero("lateness, us"))
            .series(parts(run))
            .series(misses(run));
        Plot::new(format!("late-time-{n}"), "Late time", 460)
            .note(format!(
                "{}, in a run of its own with the block layer captured. Above: the mean parts of U2C by interval, \
                 stacked. Where the device rises, I/Os were late by the device; where the oversleep rises, by the \
                 sleep that the rule asked for; where the wake-up rises, by the timer, the CPU or the scheduler. \
                 Below: the misses. {}.",
                line.name,
                late::sentences(late).join("; ")
            ))
            .view(view)
    });
    plots.collect()
}

/// The mean parts by interval. An interval without I/Os has no height.
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

/// The misses as points: those that had the device for themselves, and those with other requests
/// beside them.
fn misses(run: &LateRun) -> impl Iterator<Item = PlotSeries> {
    let (beside, alone): (Vec<&Miss>, Vec<&Miss>) =
        run.misses_kept.iter().partition(|miss| miss.others > 0);
    let lateness = |miss: &Miss| {
        let late_ns = miss.oversleep_ns + miss.wakeup_ns;
        (miss.t_s, late_ns as f64 * NS_TO_US)
    };
    let groups = [
        ("miss, alone on the device", "@d", alone),
        ("miss, beside others", "@e", beside),
    ];
    groups
        .into_iter()
        .filter_map(move |(name, colour, misses)| {
            let dots = PlotSeries::dots(name, misses.into_iter().map(lateness)).below();
            dots.colour(colour).size(4.0).unit("us").if_any()
        })
}

//! Late time of a cell over the time of its run: the parts of U2C, and the misses one by one.

use super::line::Line;
use super::{Chart, View, axis, values};
use crate::late;
use q2c_model::U2cParts;
use q2c_result::late::{LateRun, LateTime, Miss};
use serde_json::{Value, json};

const NS_TO_US: f64 = 1e-3;
/// Colours of the parts, in the order of time. Device, oversleep and wake-up are to be told apart.
const COLOURS: [&str; 6] = ["@a", "@poll", "@b", "@chosen", "@f", "@c"];
/// Colours of misses that had the device for themselves, and of the others.
const ALONE: &str = "@d";
const BESIDE: &str = "@e";

/// A chart for each cell with late time.
pub(crate) fn charts(lines: &[Line<'_>]) -> Vec<Chart> {
    let seen = lines.iter().filter_map(|line| match &line.cell.late {
        Some(late @ LateTime::Seen(run)) => Some((line, late, &**run)),
        _ => None,
    });
    let chart = |(n, (line, late, run)): (usize, (&Line<'_>, &LateTime, &LateRun))| Chart {
        id: format!("late-time-{n}"),
        title: "Late time".into(),
        note: format!(
            "{}, in a run of its own with the block layer captured. Above: the mean parts of U2C by interval, \
             stacked. Where the device rises, I/Os were late by the device; where the oversleep rises, by the \
             sleep that the rule asked for; where the wake-up rises, by the timer, the CPU or the scheduler. \
             Below: the misses. {}.",
            crate::label::cell(line.cell),
            late::told(late).join("; ")
        ),
        height: 460,
        wide: true,
        views: vec![view(run)],
    };
    seen.enumerate().map(chart).collect()
}

fn view(run: &LateRun) -> View {
    let mut traces = parts(run);
    traces.extend(misses(run));
    View {
        label: "parts",
        traces,
        layout: axis::stacked(
            &axis::from_zero("time, s"),
            &axis::from_zero("U2C, us"),
            &axis::from_zero("lateness, us"),
        ),
    }
}

/// The mean parts by interval as areas upon each other. An interval without I/Os has no height.
fn parts(run: &LateRun) -> Vec<Value> {
    let ends: Vec<f64> = run.intervals.iter().map(|i| i.end_s).collect();
    let time = values(&ends, 1.0);
    let each = late::PARTS.iter().zip(COLOURS).enumerate();
    let trace = |(n, (name, colour)): (usize, (&&str, &str))| {
        let part = |parts: Option<U2cParts<f64>>| parts.map_or(f64::NAN, |p| p.in_order()[n]);
        let of_part = run.intervals.iter().map(|i| part(i.numbers.parts));
        json!({
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": time,
            "y": values(&of_part.collect::<Vec<f64>>(), NS_TO_US),
            "stackgroup": "parts",
            "line": {"color": colour, "width": 1},
            "hovertemplate": "%{y} us",
        })
    };
    each.map(trace).collect()
}

fn late_ns(miss: &&Miss) -> f64 {
    (miss.oversleep_ns + miss.wakeup_ns) as f64
}

/// The misses as points: those that had the device for themselves, and those with other requests
/// beside them.
fn misses(run: &LateRun) -> Vec<Value> {
    let (beside, alone): (Vec<&Miss>, Vec<&Miss>) =
        run.misses_kept.iter().partition(|miss| miss.others > 0);
    let groups = [
        ("miss, alone on the device", ALONE, alone),
        ("miss, beside others", BESIDE, beside),
    ];
    let there = groups.into_iter().filter(|(.., of)| !of.is_empty());
    let trace = |(name, colour, of): (&str, &str, Vec<&Miss>)| {
        let at: Vec<f64> = of.iter().map(|miss| miss.t_s).collect();
        let over: Vec<f64> = of.iter().map(late_ns).collect();
        json!({
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": values(&at, 1.0),
            "y": values(&over, NS_TO_US),
            "yaxis": "y2",
            "marker": {"color": colour, "size": 4},
            "hovertemplate": "%{y} us",
        })
    };
    there.map(trace).collect()
}

//! Charts of single I/Os: lanes by CPU or hardware queue, with stages in colours.

use super::STAGES;
use crate::html::chart::{Chart, View, axis};
use crate::html::escape::chart_text;
use crate::quantity::{count, duration};
use q2c_result::analyze::{AnalyzeResult, ExcerptIo};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most I/Os of an excerpt that are drawn: the page stays small. The start and the slowest have
/// fewer.
const DRAWN: usize = 512;

/// A way to sort I/Os into lanes: the labels of the views `start`, `slowest` and `window`, the word
/// for a lane, and the function that gives an I/O's lane.
type Lanes = (
    [&'static str; 3],
    &'static str,
    fn(&ExcerptIo) -> Option<u32>,
);

const LANES: [Lanes; 2] = [
    (
        [
            "start, by CPU",
            "around the slowest, by CPU",
            "window, by CPU",
        ],
        "CPU",
        |io| io.cpu,
    ),
    (
        [
            "start, by queue",
            "around the slowest, by queue",
            "window, by queue",
        ],
        "queue",
        |io| io.hctx,
    ),
];

/// The chart of all excerpts, each by CPU and, where the trace names hardware queues, by queue.
/// `None` when the trace has no completions.
pub(crate) fn chart(result: &AnalyzeResult) -> Option<Chart> {
    if result.completed == 0 {
        return None;
    }
    let mut views = Vec::new();
    let mut left_out = 0;
    for excerpt in &result.excerpts {
        let ios = &excerpt.ios[..excerpt.ios.len().min(DRAWN)];
        left_out += excerpt.left_out + (excerpt.ios.len() - ios.len()) as u64;
        for (labels, name, of) in LANES {
            if name == "CPU" || ios.iter().any(|io| of(io).is_some()) {
                let which = ["start", "slowest", "window"]
                    .iter()
                    .position(|what| *what == excerpt.what)?;
                views.push(view(ios, labels[which], name, of));
            }
        }
    }
    let more = match left_out {
        0 => String::new(),
        n => format!(" {} more I/Os of the window have no room here.", count(n)),
    };
    Some(Chart {
        id: "excerpts".into(),
        title: "What happens to single I/Os?".into(),
        note: format!(
            "A line for each I/O from Q to C, its stages coloured, above each other where they overlap; the dot where it completes tells what it is. Drag to zoom. \
             Any other window: q2c analyze --window FROM..TO, or q2c trace export --format chrome.{more}"
        ),
        height: 560,
        wide: true,
        views,
    })
}

fn view(
    ios: &[ExcerptIo],
    label: &'static str,
    name: &str,
    of: fn(&ExcerptIo) -> Option<u32>,
) -> View {
    let (rows, ticks) = rows(ios, of);
    let ticktext = ticks.iter().map(|(lane, _)| match lane {
        Some(lane) => format!("{name} {lane}"),
        None => format!("{name} unknown"),
    });
    let mut y = axis::titled("");
    y["tickvals"] = ticks.iter().map(|(_, row)| json!(row)).collect();
    y["ticktext"] = ticktext.collect();
    y["showgrid"] = json!(true);
    let mut traces: Vec<Value> = STAGES
        .iter()
        .filter_map(|stage| lines(ios, &rows, stage))
        .collect();
    traces.push(ends(ios, &rows));
    View {
        label,
        traces,
        layout: axis::single(&axis::titled("time, us"), &y),
    }
}

/// The row of each I/O, and the lowest row of each lane. An I/O takes the lowest row of its lane
/// that is free when it begins.
fn rows(
    ios: &[ExcerptIo],
    of: fn(&ExcerptIo) -> Option<u32>,
) -> (Vec<usize>, Vec<(Option<u32>, usize)>) {
    let mut lanes: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
    let mut within = Vec::new();
    for io in ios {
        let rows = lanes.entry(of(io)).or_default();
        let (from, to) = ends_of(io);
        let free = rows.iter().position(|busy_until| *busy_until <= from);
        let row = free.unwrap_or_else(|| {
            rows.push(0);
            rows.len() - 1
        });
        rows[row] = to;
        within.push(row);
    }
    let mut ticks = Vec::new();
    let mut next = 0;
    for (lane, rows) in &lanes {
        ticks.push((*lane, next));
        next += rows.len() + 1;
    }
    let first = |lane: Option<u32>| {
        ticks
            .iter()
            .find(|(of, _)| *of == lane)
            .map_or(0, |(_, row)| *row)
    };
    let rows = ios
        .iter()
        .zip(within)
        .map(|(io, row)| first(of(io)) + row)
        .collect();
    (rows, ticks)
}

/// The first and the last known time of an I/O, ns.
pub(crate) fn ends_of(io: &ExcerptIo) -> (u64, u64) {
    let times = [
        io.queue_ns,
        io.getrq_ns,
        io.insert_ns,
        io.issue_ns,
        io.complete_ns,
    ];
    let known = times.into_iter().flatten();
    (known.clone().min().unwrap_or(0), known.max().unwrap_or(0))
}

/// Start and end of a stage, ns; `None` when the I/O lacks the stage.
fn stage(io: &ExcerptIo, name: &str) -> Option<(u64, u64)> {
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

/// One plotly trace for a stage of all I/Os: pieces of line with gaps between them.
fn lines(ios: &[ExcerptIo], rows: &[usize], (name, colour): &(&str, &str)) -> Option<Value> {
    let (mut x, mut y, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for (io, row) in ios.iter().zip(rows) {
        if let Some((from, to)) = stage(io, name) {
            x.extend([exact_us(from), exact_us(to), Value::Null]);
            y.extend([json!(row), json!(row), Value::Null]);
            let (begin, end) = ends_of(io);
            let took = duration(to.saturating_sub(from) as f64);
            let text_of = json!(format!(
                "{name} {took} of {} in all",
                duration((end - begin) as f64)
            ));
            text.extend([text_of.clone(), text_of, Value::Null]);
        }
    }
    (!x.is_empty()).then(|| {
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "text": text,
            "line": {"color": colour, "width": 7}, "connectgaps": false,
            "hovertemplate": "%{text}<extra></extra>",
        })
    })
}

/// The dots where I/Os complete. They tell what the I/O is, once for all of its stages.
fn ends(ios: &[ExcerptIo], rows: &[usize]) -> Value {
    let (mut x, mut y, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for (io, row) in ios.iter().zip(rows) {
        if let Some(at) = io.complete_ns {
            x.push(exact_us(at));
            y.push(*row);
            text.push(about(io));
        }
    }
    json!({
        "type": "scatter", "mode": "markers", "name": "complete", "x": x, "y": y, "text": text,
        "marker": {"color": "@ink", "size": 4}, "hovertemplate": "%{text}<extra></extra>",
    })
}

/// A time in microseconds with all digits, because the five digits of other charts would merge I/Os
/// late in a trace.
fn exact_us(ns: u64) -> Value {
    json!(ns as f64 / 1e3)
}

fn about(io: &ExcerptIo) -> String {
    let pid = io
        .pid
        .map_or_else(String::new, |pid| format!(", pid {pid}"));
    chart_text(&format!(
        "{} of {} bytes at sector {} of {}{pid}",
        io.op, io.bytes, io.sector, io.device
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (rows, ticks) = rows(&ios, |io| io.cpu);
        assert_eq!(rows, [0, 1, 0, 3]);
        assert_eq!(ticks, [(Some(0), 0), (Some(1), 3)]);
    }
}

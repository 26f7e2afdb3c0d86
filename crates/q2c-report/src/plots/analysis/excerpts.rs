//! Single I/Os: lanes by CPU or hardware queue, with stages in colours.

use super::STAGES;
use crate::plot::{Plot, PlotAxis, PlotSeries, View};
use crate::quantity::{count, duration};
use q2c_result::analyze::{AnalyzeResult, ExcerptIo};
use std::collections::BTreeMap;

/// The largest number of I/Os drawn of one excerpt, to keep the page small. The excerpts of the
/// start and of the slowest I/Os are shorter anyway.
const DRAWN: usize = 512;

/// A way to sort I/Os into lanes: the word for a lane, and the lane of an I/O.
type ExcerptLanes = (&'static str, fn(&ExcerptIo) -> Option<u32>);

const CPUS: ExcerptLanes = ("CPU", |io| io.cpu);
const QUEUES: ExcerptLanes = ("queue", |io| io.hctx);

/// The labels of an excerpt's views, by CPU and by queue.
fn labels(excerpt: &str) -> Option<(&'static str, &'static str)> {
    match excerpt {
        "start" => Some(("start, by CPU", "start, by queue")),
        "slowest" => Some(("around the slowest, by CPU", "around the slowest, by queue")),
        "window" => Some(("window, by CPU", "window, by queue")),
        _ => None,
    }
}

/// All excerpts, each by CPU and, if the trace names hardware queues, by queue. `None` if the trace
/// has no completions.
pub(crate) fn plot(result: &AnalyzeResult) -> Option<Plot> {
    if result.completed == 0 {
        return None;
    }
    let mut views = Vec::new();
    let mut left_out = 0;
    for excerpt in &result.excerpts {
        let ios = &excerpt.ios[..excerpt.ios.len().min(DRAWN)];
        left_out += excerpt.left_out + (excerpt.ios.len() - ios.len()) as u64;
        let (by_cpu, by_queue) = labels(&excerpt.what)?;
        views.push(view(ios, by_cpu, CPUS));
        if ios.iter().any(|io| io.hctx.is_some()) {
            views.push(view(ios, by_queue, QUEUES));
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

fn view(ios: &[ExcerptIo], label: &'static str, (kind, lane_of): ExcerptLanes) -> View {
    let (rows, lowest) = rows(ios, lane_of);
    let y = PlotAxis::new("").named_ticks(lowest.iter().map(|(lane, row)| {
        let lane = lane.map_or_else(|| "unknown".to_owned(), |lane| lane.to_string());
        (*row as f64, format!("{kind} {lane}"))
    }));
    let stages = (0..STAGES.len()).filter_map(|nth| stage_lines(ios, &rows, nth));
    let view = View::new(label, PlotAxis::new("time, us"), y);
    view.series(stages).series([ends(ios, &rows)])
}

/// The row of each I/O, and the lowest row of each lane. An I/O takes the lowest row of its lane
/// that is free at its start.
fn rows(
    ios: &[ExcerptIo],
    get: fn(&ExcerptIo) -> Option<u32>,
) -> (Vec<usize>, BTreeMap<Option<u32>, usize>) {
    let mut lanes: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
    let mut within = Vec::new();
    for io in ios {
        let rows = lanes.entry(get(io)).or_default();
        let (from, to) = ends_of(io);
        let free = rows.iter().position(|busy_until| *busy_until <= from);
        let row = free.unwrap_or_else(|| {
            rows.push(0);
            rows.len() - 1
        });
        rows[row] = to;
        within.push(row);
    }
    let (mut lowest, mut next) = (BTreeMap::new(), 0);
    for (lane, rows) in lanes {
        lowest.insert(lane, next);
        next += rows.len() + 1;
    }
    let rows = ios.iter().zip(within);
    (
        rows.map(|(io, row)| lowest[&get(io)] + row).collect(),
        lowest,
    )
}

/// The first and the last known time of an I/O, ns.
pub(crate) fn ends_of(io: &ExcerptIo) -> (u64, u64) {
    let before = [io.queue_ns, io.getrq_ns, io.insert_ns, io.issue_ns];
    let known = before.into_iter().chain([io.complete_ns]).flatten();
    (known.clone().min().unwrap_or(0), known.max().unwrap_or(0))
}

/// Start and end of a stage, ns; `None` if the I/O lacks the stage.
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

/// One stage of all I/Os: pieces of a line with gaps between them.
fn stage_lines(ios: &[ExcerptIo], rows: &[usize], nth: usize) -> Option<PlotSeries> {
    let (name, colour) = STAGES[nth];
    let (mut points, mut texts) = (Vec::new(), Vec::new());
    for (io, row) in ios.iter().zip(rows) {
        if let Some((from, to)) = stage(io, name) {
            let row = *row as f64;
            points.extend([(us(from), row), (us(to), row), (f64::NAN, f64::NAN)]);
            let (begin, end) = ends_of(io);
            let took = duration(to.saturating_sub(from) as f64);
            let text = format!("{name} {took} of {} in all", duration((end - begin) as f64));
            texts.extend([text.clone(), text, String::new()]);
        }
    }
    let line = PlotSeries::line(name, points).exact().texts(texts);
    line.pen(colour, 7.0).hover_alone("{text}").if_any()
}

/// Dots at the completions. Their hover text describes the I/O, once for all of its stages.
fn ends(ios: &[ExcerptIo], rows: &[usize]) -> PlotSeries {
    let complete = ios.iter().zip(rows).filter_map(|(io, row)| {
        let place = (us(io.complete_ns?), *row as f64);
        Some((place, about(io)))
    });
    let (points, texts): (Vec<_>, Vec<_>) = complete.unzip();
    let dots = PlotSeries::dots("complete", points).exact().texts(texts);
    dots.colour("@ink").size(4.0).hover_alone("{text}")
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn about(io: &ExcerptIo) -> String {
    let pid = io.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let (op, bytes, sector, device) = (&io.op, io.bytes, io.sector, &io.device);
    format!("{op} of {bytes} bytes at sector {sector} of {device}{pid}")
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
        let (rows, lowest) = rows(&ios, |io| io.cpu);
        assert_eq!(rows, [0, 1, 0, 3]);
        assert_eq!(lowest, BTreeMap::from([(Some(0), 0), (Some(1), 3)]));
    }
}

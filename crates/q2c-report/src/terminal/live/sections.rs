//! The sections of the view of a running capture. Each is a list of lines for a given room.

use super::{WHOLE, parts};
use crate::analysis::time;
use crate::phrase::listed;
use crate::quantity::{self, count, number, or_nothing};
use crate::terminal::bars::{course, least_most};
use crate::terminal::pieces::{cut, padded};
use q2c_result::analyze::StageStats;
use q2c_result::live::{LiveInterval, ProcessIos};

pub(super) const STAGES: usize = 46;

/// A head, then a line for each stage. Q2C comes last.
pub(super) fn stages(interval: &LiveInterval) -> Vec<String> {
    let line = |fields: [&str; 6]| {
        let [name, ios, mean, p50, p99, max] = fields;
        format!("{name:<5}{ios:>9}{mean:>8}{p50:>8}{p99:>8}{max:>8}")
    };
    let whole = interval.stages.get(WHOLE).map(|stats| (WHOLE, stats));
    let row = |(name, stats): (&str, &StageStats)| {
        let [mean, p50, p99] = &[stats.mean_ns, stats.p50_ns, stats.p99_ns].map(time);
        line([
            name,
            &count(stats.n),
            mean,
            p50,
            p99,
            &time(stats.max_ns as f64),
        ])
    };
    let mut lines = vec![line(["stage", "I/Os", "mean", "p50", "p99", "max"])];
    lines.extend(parts(interval).chain(whole).map(row));
    lines
}

/// A head, then the processes with most I/Os, in at most `height` lines. The last line counts the
/// processes that are not listed.
pub(super) fn processes(interval: &LiveInterval, width: usize, height: usize) -> Vec<String> {
    let line = |pid: &str, ios: &str, comm: &str| cut(&format!("{pid:>7} {ios:>7}  {comm}"), width);
    let seen = interval.processes_seen as usize;
    let room = height.saturating_sub(1);
    let listed = match seen.min(interval.processes.len()) {
        total if total == seen && total <= room => total,
        some => some.min(room.saturating_sub(1)),
    };
    let row = |process: &ProcessIos| {
        let ios = quantity::iops(process.ios as f64);
        line(&pid(process), &ios, &process.comm)
    };
    let mut lines = vec![line("pid", "I/Os", "process")];
    lines.extend(interval.processes.iter().take(listed).map(row));
    lines.extend((seen > listed).then(|| line("", "", &format!("and {} more", seen - listed))));
    lines.truncate(height);
    lines
}

pub(super) fn processes_in_a_line(interval: &LiveInterval) -> String {
    let ios = |process: &ProcessIos| quantity::iops(process.ios as f64);
    let name =
        |process: &ProcessIos| format!("{} ({}) {}", process.comm, pid(process), ios(process));
    listed(interval.processes.iter().map(name))
}

fn pid(process: &ProcessIos) -> String {
    process.pid.map_or("?".to_owned(), |pid| pid.to_string())
}

/// A number of each interval: its name, how to read it, and how to write it.
type HistoryRow = (
    &'static str,
    fn(&LiveInterval) -> Option<f64>,
    fn(f64) -> String,
);

/// The rows of the history, the most important ones first.
const HISTORY: [HistoryRow; 5] = [
    ("IOPS", |i| Some(i.iops), quantity::iops),
    ("p50", |i| Some(i.stages.get(WHOLE)?.p50_ns), time),
    ("p99", |i| Some(i.stages.get(WHOLE)?.p99_ns), time),
    ("in flight", |i| Some(i.in_flight_mean), number),
    ("MiB/s", |i| Some(i.mib_s), number),
];
const NUMBERS: usize = 20;
const SCALE: usize = 19;

/// A head, then a row for each number over the last intervals, in at most `height` lines.
pub(super) fn history(intervals: &[LiveInterval], width: usize, height: usize) -> Vec<String> {
    let room = width.saturating_sub(NUMBERS + SCALE);
    let shown = &intervals[intervals.len().saturating_sub(room)..];
    let line = |name: &str, now: &str, course: &str, scale: &str| {
        let course = padded(course, room);
        let line = format!("{name:<10}{now:>8}  {course}{scale:>SCALE$}");
        cut(line.trim_end(), width)
    };
    let title = format!("the last {} intervals", shown.len());
    let mut lines = vec![line("history", "now", &title, "least..most")];
    lines.extend(HISTORY.iter().map(|(name, value, text): &HistoryRow| {
        let values: Vec<Option<f64>> = shown.iter().map(value).collect();
        let now = or_nothing(values.last().copied().flatten().map(text));
        let scale = least_most(&values, *text);
        line(name, &now, &course(&values, room), &scale)
    }));
    lines.truncate(height);
    lines
}

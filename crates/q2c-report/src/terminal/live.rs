//! A running capture in a terminal: one line per interval, or a view of the whole screen that
//! replaces the view before it.

use super::bars::sparkline;
use super::heat::{NAME_COLUMNS, heat_lines, row_start};
use super::pieces::{cut, pad, wrap};
use super::screen::{Screen, Tone, printable};
use crate::analysis::STAGE_ORDER;
use crate::bottleneck;
use crate::note::Note;
use crate::phrase::listed;
use crate::quantity::{self, count, duration, number, or_dash};
use q2c_result::analyze::StageStats;
use q2c_result::live::{LatencyCounts, LiveInterval, ProcessIos};
use std::cmp::Reverse;

const LINE_HEAD: &str =
    "     until       IOPS      MiB/s  in flight       mean        p50        p99     lost";
/// The stage whose times are in the columns mean, p50 and p99.
const WHOLE: &str = "Q2C";

/// The head of the lines of [`live_line`].
#[must_use]
pub fn live_head() -> String {
    format!("{LINE_HEAD}  stage with most time, before the device; mean, p50, p99 of stages")
}

/// An interval as a line. The columns of times show Q2C.
#[must_use]
pub fn live_line(interval: &LiveInterval) -> String {
    let stage_time = |get: fn(&StageStats) -> f64| q2c_text(interval, get);
    let columns = format!(
        "{:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
        quantity::seconds(interval.end_s),
        quantity::iops(interval.iops),
        number(interval.mib_s),
        number(interval.in_flight_mean),
        stage_time(|s| s.mean_ns),
        stage_time(|s| s.p50_ns),
        stage_time(|s| s.p99_ns),
        count(interval.lost),
    );
    let stages = stages_within(interval).map(|(name, s)| {
        let times = [s.mean_ns, s.p50_ns, s.p99_ns].map(duration);
        format!("{name} {}", times.join(" "))
    });
    let bottleneck = interval.bottleneck.as_ref().map(bottleneck::brief);
    let bottleneck = bottleneck.map(|brief| format!("  {brief}; {}", listed(stages)));
    columns + &bottleneck.unwrap_or_default()
}

/// The stages within Q2C that at least one I/O of the interval has.
fn stages_within(interval: &LiveInterval) -> impl Iterator<Item = (&'static str, &StageStats)> {
    let names = STAGE_ORDER.into_iter();
    let names = names.filter(|name| !["Q2Q", WHOLE].contains(name));
    names.filter_map(|name| Some((name, interval.stages.get(name)?)))
}

/// The number of lines up to which the list of processes is as short as the table of stages, and
/// few disks are listed.
const SHORT_SCREEN_LINES: usize = 24;
const MAX_DISKS_OF_SHORT_SCREEN: usize = 4;
/// The smallest width, in columns, at which processes stand beside the stages.
const MIN_WIDTH_OF_TWO_COLUMNS: usize = 78;
const GAP_COLUMNS: usize = 2;

/// What the view of a running capture shows.
#[derive(Clone, Copy, Debug)]
pub struct LiveView<'a> {
    /// Names the captured disks.
    pub title: &'a str,
    /// The intervals so far. The last one is shown, those before it are its history.
    pub intervals: &'a [LiveInterval],
    /// The disk that is shown below the table of disks; `None` for all of them.
    pub disk: Option<&'a str>,
    /// The last line, such as the keys.
    pub footer: &'a str,
}

impl<'a> LiveView<'a> {
    /// The view in exactly `height` lines, each as wide as the screen at most. If the room is too
    /// small, the heat map goes first, then the history.
    #[must_use]
    pub fn text(&self, screen: Screen, height: u16) -> String {
        let width = usize::from(screen.width);
        let view_lines = usize::from(height).saturating_sub(1);
        let mut lines = match self.intervals.last() {
            Some(last) => self.lines(last, screen, view_lines),
            None => vec![cut(self.title, width)],
        };
        lines.resize(view_lines, String::new());
        lines.push(screen.paint(Tone::Dim, &cut(self.footer, width)));
        lines.join("\n")
    }

    fn lines(&self, last: &LiveInterval, screen: Screen, view_lines: usize) -> Vec<String> {
        let width = usize::from(screen.width);
        let shown: Vec<&LiveInterval> = self.intervals.iter().map(|i| self.figures(i)).collect();
        let is_short = view_lines < SHORT_SCREEN_LINES;
        let mut lines = load_lines(self.title, self.disk, self.figures(last), screen);
        lines.extend(disk_lines(last, self.disk, screen, is_short));
        let ending = ending_lines(self.figures(last), screen);
        let history_rows = if is_short { 2 } else { HISTORY.len() };
        let remaining = view_lines.saturating_sub(lines.len() + ending.len() + history_rows);
        // The heat map has half of the room, or what the stages leave.
        let max_lines = remaining.saturating_sub(MIN_HEAT_LINES.max(remaining / 2));
        let max_lines = if is_short { max_lines } else { remaining / 2 };
        lines.extend(stage_and_process_lines(
            self.figures(last),
            width,
            max_lines,
            view_lines,
        ));
        lines.extend(ending);
        let columns = width.saturating_sub(NAME_COLUMNS + MOST_COLUMNS);
        let heat_rows = view_lines.saturating_sub(lines.len() + history_rows);
        let latencies: Vec<&LatencyCounts> = shown.iter().map(|i| &i.latency).collect();
        lines.extend(heat_lines(&latencies, columns, screen, heat_rows));
        let history = history_lines(&shown, width, columns);
        lines.extend(history.into_iter().take(history_rows));
        lines
    }

    /// The figures of the shown disk, or of all disks.
    fn figures(&self, interval: &'a LiveInterval) -> &'a LiveInterval {
        let disk = self.disk.and_then(|disk| interval.disks.get(disk));
        disk.unwrap_or(interval)
    }
}

/// Lines of a heat map on a short screen, its head included.
const MIN_HEAT_LINES: usize = 6;

/// A head, then a line for each disk, the busiest ones if there is no room for all; no line in a
/// capture of one disk.
fn disk_lines(
    last: &LiveInterval,
    chosen: Option<&str>,
    screen: Screen,
    is_short: bool,
) -> Vec<String> {
    let width = usize::from(screen.width);
    let line = |mark: &str, name: &str, fields: [&str; 5], stage: &str| {
        let [iops, mib_s, in_flight, p50, p99] = fields;
        let name = pad(name, 12);
        let line =
            format!("{mark}{name}{iops:>9}{mib_s:>9}{in_flight:>10}{p50:>9}{p99:>9}  {stage}");
        cut(&line, width)
    };
    let mut disks: Vec<(&String, &LiveInterval)> = last.disks.iter().collect();
    if is_short && disks.len() > MAX_DISKS_OF_SHORT_SCREEN {
        disks.sort_by_key(|(name, disk)| (Some(name.as_str()) != chosen, Reverse(disk.ios)));
        disks.truncate(MAX_DISKS_OF_SHORT_SCREEN);
        disks.sort_by_key(|(name, _)| *name);
    }
    if disks.is_empty() {
        return Vec::new();
    }
    let name = if disks.len() < last.disks.len() {
        format!("disk (of {})", last.disks.len())
    } else {
        "disk".to_owned()
    };
    let fields = ["IOPS", "MiB/s", "in flight", "p50", "p99"];
    let mut lines = vec![line(" ", &name, fields, "most time")];
    lines.extend(disks.into_iter().map(|(name, disk)| {
        let is_chosen = chosen.is_none_or(|chosen| chosen == name);
        let q2c = |get: fn(&StageStats) -> f64| q2c_text(disk, get);
        let (iops, mib_s) = (quantity::iops(disk.iops), number(disk.mib_s));
        let in_flight = number(disk.in_flight_mean);
        let (p50, p99) = (q2c(|s| s.p50_ns), q2c(|s| s.p99_ns));
        let stage = or_dash(disk.bottleneck.as_ref().map(bottleneck::brief));
        let mark = if is_chosen { ">" } else { " " };
        let line = line(mark, name, [&iops, &mib_s, &in_flight, &p50, &p99], &stage);
        let tone = if is_chosen { Tone::Plain } else { Tone::Dim };
        screen.paint(tone, &line)
    }));
    lines
}

fn q2c_text(interval: &LiveInterval, get: fn(&StageStats) -> f64) -> String {
    or_dash(interval.stages.get(WHOLE).map(|stats| duration(get(stats))))
}

fn styled_line(screen: Screen, tone: Tone, head: &str, text: &str) -> String {
    let line = cut(&format!("{head} {text}"), usize::from(screen.width));
    match line.strip_prefix(&printable(head)) {
        Some(remainder) => screen.paint(tone, head) + remainder,
        None => line,
    }
}

fn load_lines(title: &str, disk: Option<&str>, last: &LiveInterval, screen: Screen) -> Vec<String> {
    let until = format!("\u{b7} {}", quantity::seconds(last.end_s));
    let now = last
        .in_flight_now
        .map(|now| format!(", {} now", count(now)));
    let load = format!(
        "{} IOPS \u{b7} {} MiB/s \u{b7} in flight {} on average{}",
        quantity::iops(last.iops),
        number(last.mib_s),
        number(last.in_flight_mean),
        now.unwrap_or_default()
    );
    // The time stays visible however long the title is.
    let columns = usize::from(screen.width).saturating_sub(until.chars().count() + 1);
    let name = disk.unwrap_or("load");
    let heads = [(cut(title, columns), until), (format!("{name}:"), load)];
    Vec::from(heads.map(|(head, text)| styled_line(screen, Tone::Strong, &head, &text)))
}

/// The stages and the processes, in at most `max_lines` lines. The processes stand beside the
/// stages if the screen is wide enough. On a tall screen the list of processes is the longer one.
fn stage_and_process_lines(
    last: &LiveInterval,
    width: usize,
    max_lines: usize,
    view_lines: usize,
) -> Vec<String> {
    let stages = stage_lines(last, max_lines);
    if width < MIN_WIDTH_OF_TWO_COLUMNS {
        let processes = format!("processes: {}", process_summary(last));
        let processes = (!last.processes.is_empty()).then_some(&processes);
        let lines = stages.iter().chain(processes).take(max_lines);
        return lines.map(|line| cut(line, width)).collect();
    }
    let height = stages.len() + view_lines.saturating_sub(SHORT_SCREEN_LINES) / 2;
    let processes = process_lines(
        last,
        width - STAGE_COLUMNS - GAP_COLUMNS,
        height.max(4).min(max_lines),
    );
    let lines = stages.len().max(processes.len()).min(max_lines);
    let line_at = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    let line =
        |at| pad(&line_at(&stages, at), STAGE_COLUMNS + GAP_COLUMNS) + &line_at(&processes, at);
    let lines = (0..lines).map(|at| line(at).trim_end().to_owned());
    lines.collect()
}

fn ending_lines(last: &LiveInterval, screen: Screen) -> Vec<String> {
    let notes = match &last.bottleneck {
        Some(bottleneck) => bottleneck::notes(bottleneck),
        None => Note::plains("most time", ["no I/O completed in this interval"]).collect(),
    };
    let heading = |note: &Note| format!("{}:", note.heading);
    let note_line = |note: &Note| styled_line(screen, Tone::Strong, &heading(note), &note.text);
    let mut lines = match notes.as_slice() {
        [only] => two_lines(&heading(only), &only.text, screen),
        several => several.iter().map(note_line).collect(),
    };
    let tone = match last.lost + last.unqueued {
        0 => Tone::Good,
        _ => Tone::Caution,
    };
    let [lost, unqueued] = [last.lost, last.unqueued].map(count);
    let missing = format!("{lost}, complete without having been seen queued {unqueued}");
    lines.push(styled_line(screen, tone, "lost so far:", &missing));
    lines
}

/// A head and a sentence in at most two lines.
fn two_lines(head: &str, text: &str, screen: Screen) -> Vec<String> {
    let width = usize::from(screen.width);
    let mut lines = wrap(&printable(&format!("{head} {text}")), width, "", "  ").into_iter();
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix(head).unwrap_or(&first).trim_start();
    let others: Vec<String> = lines.map(|line| line.trim_start().to_owned()).collect();
    let mut shown = vec![styled_line(screen, Tone::Strong, head, first)];
    shown.extend((!others.is_empty()).then(|| cut(&format!("  {}", others.join(" ")), width)));
    shown
}

const STAGE_COLUMNS: usize = 46;

/// A head, then a line for each stage, in at most `max_lines` lines: those that take most time.
/// Q2C comes last.
fn stage_lines(interval: &LiveInterval, max_lines: usize) -> Vec<String> {
    let line = |fields: [&str; 6]| {
        let [name, ios, mean, p50, p99, max] = fields;
        format!("{name:<5}{ios:>9}{mean:>8}{p50:>8}{p99:>8}{max:>8}")
    };
    let q2c = interval.stages.get(WHOLE).map(|stats| (WHOLE, stats));
    let row = |(name, stats): (&str, &StageStats)| {
        let [mean, p50, p99] = &[stats.mean_ns, stats.p50_ns, stats.p99_ns].map(duration);
        let (n, max) = (count(stats.n), duration(stats.max_ns as f64));
        line([name, &n, mean, p50, p99, &max])
    };
    let mut lines = vec![line(["stage", "I/Os", "mean", "p50", "p99", "max"])];
    let time = |stats: &StageStats| stats.mean_ns * stats.n as f64;
    let mut times: Vec<f64> = stages_within(interval).map(|(_, s)| time(s)).collect();
    times.sort_by(|a, b| b.total_cmp(a));
    let least = times.get(max_lines.saturating_sub(2)).copied();
    let stages = stages_within(interval).filter(|(_, s)| least.is_none_or(|t| time(s) > t));
    lines.extend(stages.chain(q2c).map(row));
    lines
}

/// A head, then the processes with most I/Os, in at most `height` lines. The last line counts the
/// processes that are not listed.
fn process_lines(interval: &LiveInterval, width: usize, height: usize) -> Vec<String> {
    let line = |pid: &str, ios: &str, comm: &str| cut(&format!("{pid:>7} {ios:>7}  {comm}"), width);
    let total = interval.processes_seen as usize;
    let max_rows = height.saturating_sub(1);
    let shown = match total.min(interval.processes.len()) {
        stored if stored == total && stored <= max_rows => stored,
        stored => stored.min(max_rows.saturating_sub(1)),
    };
    let row = |process: &ProcessIos| {
        let ios = quantity::iops(process.ios as f64);
        line(&pid_text(process), &ios, &process.comm)
    };
    let mut lines = vec![line("pid", "I/Os", "process")];
    lines.extend(interval.processes.iter().take(shown).map(row));
    lines.extend((total > shown).then(|| line("", "", &format!("and {} more", total - shown))));
    lines.truncate(height);
    lines
}

fn process_summary(interval: &LiveInterval) -> String {
    let ios = |process: &ProcessIos| quantity::iops(process.ios as f64);
    let name =
        |process: &ProcessIos| format!("{} ({}) {}", process.comm, pid_text(process), ios(process));
    listed(interval.processes.iter().map(name))
}

fn pid_text(process: &ProcessIos) -> String {
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
    ("in flight", |i| Some(i.in_flight_mean), number),
    ("MiB/s", |i| Some(i.mib_s), number),
    ("p50", |i| Some(i.stages.get(WHOLE)?.p50_ns), duration),
    ("p99", |i| Some(i.stages.get(WHOLE)?.p99_ns), duration),
];
/// Columns for the largest value, after the columns of the intervals.
const MOST_COLUMNS: usize = 10;

/// A row for each number over the last intervals, with the newest value before them and the
/// largest one behind.
fn history_lines(intervals: &[&LiveInterval], width: usize, columns: usize) -> Vec<String> {
    let shown = &intervals[intervals.len().saturating_sub(columns)..];
    let row = |(name, value, text): &HistoryRow| {
        let values: Vec<Option<f64>> = shown.iter().map(|interval| value(interval)).collect();
        let now = or_dash(values.last().copied().flatten().map(text));
        let most = values.iter().flatten().copied().reduce(f64::max);
        let most = most.map_or(String::new(), |most| format!("..{}", text(most)));
        let sparkline = sparkline(&values, columns);
        let line = format!("{}{sparkline}{most:>MOST_COLUMNS$}", row_start(name, &now));
        cut(line.trim_end(), width)
    };
    HISTORY.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::DASH;
    use q2c_result::analyze::Bottleneck;

    fn interval() -> LiveInterval {
        let stage = |mean_ns| StageStats {
            n: 3,
            mean_ns,
            p50_ns: 2_000.0,
            p99_ns: 9_000.0,
            max_ns: 9_000,
            ..StageStats::default()
        };
        let stages = [("Q2G", 500.0), ("D2C", 3e3), ("Q2C", 3_500.0), ("Q2Q", 1.0)];
        let stages = stages.map(|(name, mean)| (name.to_owned(), stage(mean)));
        LiveInterval {
            end_s: 2.0,
            iops: 1_500.0,
            in_flight_mean: 1.5,
            in_flight_now: Some(7),
            stages: stages.into(),
            bottleneck: Some(Bottleneck {
                stage: "D2C".to_owned(),
                share: 0.86,
                why: "driver and device".to_owned(),
                shares: [("Q2G", 0.14), ("D2C", 0.86)]
                    .map(|(name, share)| (name.to_owned(), share))
                    .into(),
                ..Bottleneck::default()
            }),
            lost: 4,
            ..LiveInterval::default()
        }
    }

    #[test]
    fn a_line_has_the_columns_of_its_head() {
        let (head, line) = (live_head(), live_line(&interval()));
        let at = head.find("lost").unwrap() + 4;
        assert_eq!(&line[at - 1..at], "4", "{head}\n{line}");
        let bottleneck = "  D2C 86.0 %, before it Q2G 14.0 %; ";
        assert!(line.contains(bottleneck) && !line.contains("Q2Q"), "{line}");
        let [first, last] = [line.find("Q2G "), line.rfind("D2C ")];
        assert!(first.is_some() && first < last, "{line}");
        let idle = live_line(&LiveInterval::default());
        assert_eq!(idle.matches(DASH).count(), 3, "{idle}");
    }
}

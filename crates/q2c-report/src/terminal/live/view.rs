//! The view of a running capture that fills the screen of a terminal.

use super::sections::{self, STAGES};
use super::{WHOLE, sections::processes_in_a_line};
use crate::most_time;
use crate::quantity::{self, count, number};
use crate::said::Note;
use crate::terminal::bars::latency_bars;
use crate::terminal::pieces::{cut, padded, wrapped};
use crate::terminal::screen::{Screen, Tone, printable};
use q2c_result::live::LiveInterval;

/// A running capture.
#[derive(Clone, Copy, Debug)]
pub struct LiveView<'a> {
    /// Names the captured disks.
    pub title: &'a str,
    /// The intervals so far, or the latest of them, in the order of time. The last one is shown;
    /// the others are its history.
    pub intervals: &'a [LiveInterval],
}

/// The number of lines up to which the list of processes is as short as the table of stages.
const SMALL: usize = 23;
const HISTOGRAM: usize = 30;
/// The smallest width, in columns, at which processes stand beside the stages.
const BESIDE: usize = 78;
const GAP: usize = 2;

/// The view in at most `height - 1` lines, because the cursor stands below them, and no wider than
/// the screen. If the room is too small, the histogram goes first, then the history.
#[must_use]
pub fn live(view: &LiveView<'_>, screen: Screen, height: u16) -> String {
    let room = usize::from(height).saturating_sub(1);
    let width = usize::from(screen.width);
    let Some(last) = view.intervals.last() else {
        return cut(view.title, width) + "\n";
    };
    let mut lines = load(view.title, last, screen);
    let ending = ending(last, screen);
    let most = room.saturating_sub(lines.len() + ending.len());
    lines.extend(block(last, width, most, room));
    lines.extend(ending);

    let left = |lines: &Vec<String>| room.saturating_sub(lines.len());
    let rows = match left(&lines) {
        16.. => 6,
        5.. => 5,
        _ => 0,
    };
    lines.extend(sections::history(view.intervals, width, rows));
    let rows = left(&lines).min(HISTOGRAM);
    lines.extend(latency_bars(WHOLE, &last.latency, width, rows));
    lines.truncate(room);
    lines.into_iter().map(|line| line + "\n").collect()
}

fn line(screen: Screen, tone: Tone, head: &str, text: &str) -> String {
    let whole = cut(&format!("{head} {text}"), usize::from(screen.width));
    match whole.strip_prefix(&printable(head)) {
        Some(rest) => screen.paint(tone, head) + rest,
        None => whole,
    }
}

fn load(title: &str, last: &LiveInterval, screen: Screen) -> Vec<String> {
    let until = format!("\u{b7} {}", quantity::seconds(last.end_s));
    let load = format!(
        "{} IOPS \u{b7} {} MiB/s \u{b7} in flight {} on average, {} now",
        quantity::iops(last.iops),
        number(last.mib_s),
        number(last.in_flight_mean),
        count(last.in_flight_now)
    );
    // The time stays visible however long the title is.
    let place = usize::from(screen.width).saturating_sub(until.chars().count() + 1);
    let heads = [(cut(title, place), until), ("load:".to_owned(), load)];
    Vec::from(heads.map(|(head, text)| line(screen, Tone::Strong, &head, &text)))
}

/// The stages and the processes, in at most `most` lines. The processes stand beside the stages if
/// the screen is wide enough. On a tall screen the list of processes is the longer one.
fn block(last: &LiveInterval, width: usize, most: usize, room: usize) -> Vec<String> {
    let stages = sections::stages(last);
    if width < BESIDE {
        let processes = format!("processes: {}", processes_in_a_line(last));
        let processes = (!last.processes.is_empty()).then_some(&processes);
        let lines = stages.iter().chain(processes).take(most);
        return lines.map(|line| cut(line, width)).collect();
    }
    let height = stages.len() + room.saturating_sub(SMALL) / 2;
    let processes = sections::processes(last, width - STAGES - GAP, height.max(4).min(most));
    let lines = stages.len().max(processes.len()).min(most);
    let line_at = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    let line = |at| padded(&line_at(&stages, at), STAGES + GAP) + &line_at(&processes, at);
    let line = |at| line(at).trim_end().to_owned();
    (0..lines).map(line).collect()
}

fn ending(last: &LiveInterval, screen: Screen) -> Vec<String> {
    let spent = match &last.bottleneck {
        Some(bottleneck) => most_time::findings(bottleneck),
        None => Note::plains("most time", ["no I/O completed in this interval"]).collect(),
    };
    let head = |said: &Note| format!("{}:", said.what);
    let one = |said: &Note| line(screen, Tone::Strong, &head(said), &said.words);
    let mut lines = match spent.as_slice() {
        [only] => in_two_lines(&head(only), &only.words, screen),
        several => several.iter().map(one).collect(),
    };
    let is_complete = last.lost + last.unqueued == 0;
    let tone = if is_complete {
        Tone::Good
    } else {
        Tone::Caution
    };
    let [lost, unqueued] = [last.lost, last.unqueued].map(count);
    let missing = format!("{lost}, complete without having been seen queued {unqueued}");
    lines.push(line(screen, tone, "lost so far:", &missing));
    lines
}

/// A head and a sentence in at most two lines.
fn in_two_lines(head: &str, words: &str, screen: Screen) -> Vec<String> {
    let width = usize::from(screen.width);
    let mut lines = wrapped(&printable(&format!("{head} {words}")), width, "", "  ").into_iter();
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix(head).unwrap_or(&first).trim_start();
    let rest: Vec<String> = lines.map(|line| line.trim_start().to_owned()).collect();
    let mut shown = vec![line(screen, Tone::Strong, head, first)];
    shown.extend((!rest.is_empty()).then(|| cut(&format!("  {}", rest.join(" ")), width)));
    shown
}

//! A heat map of latencies over time: columns are intervals, rows are ranges of latencies.

use super::pieces::{cut, pad};
use super::screen::Screen;
use crate::quantity::{self, DASH, percent};
use anstyle::{Ansi256Color, Style};
use q2c_result::live::LatencyCounts;
use std::ops::Range;

/// How the share of an interval's I/Os in a range is drawn: the least share, its character, and its
/// colour among the 256 of terminals. Colours go from dark blue to white, so that they are also
/// told apart by brightness.
const HEATS: [(f64, char, u8); 6] = [
    (0.6, '█', 231),
    (0.3, '▓', 220),
    (0.15, '▒', 208),
    (0.05, '░', 127),
    (f64::MIN_POSITIVE, '\u{b7}', 63),
    (0.0, ' ', 0),
];
const LEGEND: &str = "\u{b7} some  ░ 5 %  ▒ 15 %  ▓ 30 %  █ 60 % of an interval";

/// Columns for the name of a row and its newest value, before the columns of the intervals.
pub(super) const NAME_COLUMNS: usize = 20;

/// The first columns of a row.
pub(super) fn row_start(name: &str, now: &str) -> String {
    format!("{name:<10}{now:>8}  ")
}

/// A head, then a row for each power of two ns that a latency has, the longest latencies first, in
/// at most `height` lines. A row is half a power where there is room for that, and several where
/// the powers are too many. The newest of `intervals` is on the right of `columns` columns, and its
/// share before them. There are no lines if the room is too small.
pub(super) fn heat_lines(
    intervals: &[&LatencyCounts],
    columns: usize,
    screen: Screen,
    height: usize,
) -> Vec<String> {
    let width = usize::from(screen.width);
    let shown = &intervals[intervals.len().saturating_sub(columns)..];
    if height < 3 || columns == 0 {
        return Vec::new();
    }
    let head = cut(&(row_start("Q2C from", "now") + LEGEND), width);
    let Some(halves) = halves(shown) else {
        return vec![head, cut("no I/O completed in these intervals", width)];
    };
    let first = |step: u32| halves.start / step.min(2) * step.min(2);
    let rows = |step: u32| (halves.end - first(step)).div_ceil(step) as usize;
    let mut steps = std::iter::once(1).chain((2..).step_by(2));
    let step = steps.find(|step| rows(*step) < height).unwrap_or(u32::MAX);
    let ranges = (first(step)..halves.end).step_by(step as usize);
    let row = |from: u32| heat_row(shown, from..from + step, columns, screen);
    let mut lines: Vec<String> = ranges.map(row).collect();
    lines.push(head);
    lines.reverse();
    lines
}

/// The halves of powers of two from the shortest to the longest latencies, numbered from 1 ns on;
/// `None` without any latency.
fn halves(intervals: &[&LatencyCounts]) -> Option<Range<u32>> {
    let half = |ns: u64| {
        let octave = ns.max(2).ilog2();
        octave * 2 + u32::from(ns >= start_ns(octave * 2 + 1))
    };
    let buckets = intervals.iter().flat_map(|latency| &latency.buckets);
    // The first bucket begins at 0, and its row just before its end.
    let ranges = buckets.map(|bucket| {
        let last = half(bucket.below_ns - 1);
        if bucket.from_ns == 0 {
            last..last + 1
        } else {
            half(bucket.from_ns)..last + 1
        }
    });
    ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
}

/// The start of half a power of two.
fn start_ns(half: u32) -> u64 {
    let power = 1_u64.checked_shl(half / 2).unwrap_or(u64::MAX);
    if half.is_multiple_of(2) {
        power
    } else {
        power.saturating_add(power / 2)
    }
}

fn heat_row(
    intervals: &[&LatencyCounts],
    halves: Range<u32>,
    columns: usize,
    screen: Screen,
) -> String {
    let share = |latency: &&LatencyCounts| {
        let [below, above] = [halves.start, halves.end].map(|half| latency.below(start_ns(half)));
        (latency.ios > 0).then(|| (above - below) as f64 / latency.ios as f64)
    };
    let shares = intervals.iter().map(share);
    let shares: Vec<Option<f64>> = shares.collect();
    let now = shares.last().copied().flatten();
    let now = now.map_or(DASH.to_owned(), percent);
    let from = quantity::duration(start_ns(halves.start) as f64);
    let start = pad(&row_start(&format!("{from:>9}"), &now), NAME_COLUMNS);
    let blanks = " ".repeat(columns - intervals.len());
    let cells = shares.iter().map(|share| heat(share.unwrap_or(0.0)));
    let cells: Vec<(f64, char, u8)> = cells.collect();
    let painted = cells.chunk_by(|a, b| a == b).map(|chunk| {
        let (_, character, colour) = chunk[0];
        let text = character.to_string().repeat(chunk.len());
        let style = Style::new().fg_color(Some(Ansi256Color(colour).into()));
        if screen.colour && character != ' ' {
            format!("{style}{text}{style:#}")
        } else {
            text
        }
    });
    start + &blanks + &painted.collect::<String>()
}

fn heat(share: f64) -> (f64, char, u8) {
    let heat = HEATS.into_iter().find(|(least, ..)| share >= *least);
    heat.unwrap_or(HEATS[HEATS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::stats::Histogram;

    fn counts(latencies: &[u64]) -> LatencyCounts {
        let mut histogram = Histogram::default();
        latencies.iter().for_each(|ns| histogram.record(*ns));
        LatencyCounts::from(&histogram)
    }

    /// Of ten I/Os, one is of 40 us, six are of 70 us (2^16 ns is 65.5 us), and three of 600 us
    /// (2^19 is 524 us). Then there is an idle interval, and one of a single I/O of 100 us.
    #[test]
    fn a_cell_is_a_share_of_its_interval() {
        let us = |us: &[u64]| counts(&us.iter().map(|us| us * 1_000).collect::<Vec<_>>());
        let ten = us(&[40, 70, 71, 72, 73, 74, 75, 600, 601, 602]);
        let intervals = [&ten, &us(&[]), &us(&[100])];
        let rows = |columns, height| {
            let lines = heat_lines(&intervals, columns, Screen::new(80, false), height);
            let cells = lines[1..].iter().map(|line| {
                let from = line.split_once("us").unwrap().0.trim().to_owned();
                (from, line.chars().skip(NAME_COLUMNS).collect::<String>())
            });
            cells.collect::<Vec<(String, String)>>()
        };
        let wanted = [
            ("524", " ▓  "),
            ("262", "    "),
            ("131", "    "),
            ("65.5", " █ █"),
            ("32.8", " ░  "),
        ];
        let wanted = wanted.map(|(from, cells)| (from.to_owned(), cells.to_owned()));
        assert_eq!(rows(4, 9), wanted);
        // Half a power to a row: 40 us is below 1.5 * 32.8 us, and 100 us above 1.5 * 65.5 us.
        let half = rows(3, 10);
        let starts: Vec<&str> = half.iter().map(|(from, _)| from.as_str()).collect();
        let wanted = [
            "524", "393", "262", "197", "131", "98.3", "65.5", "49.2", "32.8",
        ];
        assert_eq!(starts, wanted);
        let cells: Vec<&str> = half.iter().map(|(_, cells)| cells.as_str()).collect();
        let wanted = [
            "▓  ", "   ", "   ", "   ", "   ", "  █", "█  ", "   ", "░  ",
        ];
        assert_eq!(cells, wanted);
        // Two powers to a row: 40 us and 70 us are in one.
        let wide: Vec<(String, String)> = rows(3, 4);
        assert_eq!(wide.last(), Some(&("32.8".to_owned(), "█ █".to_owned())));
        assert_eq!(wide.len(), 3);
        assert!(heat_lines(&intervals, 4, Screen::new(80, false), 2).is_empty());
    }
}

//! Bars made of characters: a histogram of latencies, and the history of a number.

use super::pieces::cut;
use crate::quantity;
use q2c_result::live::LatencyCounts;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const HISTOGRAM_NUMBER_COLUMNS: usize = 28;
/// The smallest useful height of a histogram, in lines.
const MIN_HISTOGRAM_LINES: usize = 3;

/// A bar that fills `share` (0 to 1) of `width` columns. A share above 0 is always visible.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let min_eighths = usize::from(share > 0.0);
    // `width` may be 0.
    let eighths = eighths.max(min_eighths).min(width * 8);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).map(|index| EIGHTHS[index]));
    bar
}

/// A histogram of latencies: a head, then a line per range with its start, its number of I/Os,
/// their share of all I/Os, and a bar relative to the largest range. It has at most `height` lines
/// of at most `width` columns, and none if the room is too small. `name` is the latency's name,
/// such as `Q2C`.
#[must_use]
pub fn latency_bars(
    name: &str,
    latency: &LatencyCounts,
    width: usize,
    height: usize,
) -> Vec<String> {
    if height < MIN_HISTOGRAM_LINES {
        return Vec::new();
    }
    let line = |from: &str, ios: &str, share: &str, bar: &str| {
        let line = format!("{from:>9} {ios:>9} {share:>7} {bar}");
        cut(line.trim_end(), width)
    };
    let mut lines = vec![line(&format!("{name} from"), "I/Os", "share", "")];
    if latency.ios == 0 {
        lines.push(cut("        - no I/O completed in this interval", width));
        return lines;
    }
    let rows = latency.rows(height - 1);
    let most = rows.iter().map(|row| row.ios).max().unwrap_or(0);
    let bar_columns = width.saturating_sub(HISTOGRAM_NUMBER_COLUMNS);
    for row in rows {
        let share = quantity::percent(row.ios as f64 / latency.ios as f64);
        let bar = bar(row.ios as f64 / most as f64, bar_columns);
        let from = quantity::duration(row.from_ns as f64);
        lines.push(line(&from, &quantity::count(row.ios), &share, &bar));
    }
    lines
}

/// The history of a number as `width` columns, the newest on the right. Heights are shares of the
/// largest value; `None` is blank. If the room is too small, the oldest values are left out.
pub(super) fn sparkline(values: &[Option<f64>], width: usize) -> String {
    let values = &values[values.len().saturating_sub(width)..];
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let level = |value: &Option<f64>| match value {
        None => ' ',
        Some(value) => {
            let share = if most > 0.0 { value / most } else { 0.0 };
            let level = (share * LEVELS.len() as f64).ceil() as usize;
            LEVELS[level.clamp(1, LEVELS.len()) - 1]
        }
    };
    let columns: String = values.iter().map(level).collect();
    " ".repeat(width - values.len()) + &columns
}

/// The smallest and the largest value as text: `1.00 K..2.00 K`; empty if no value is known.
#[must_use]
pub fn least_most(values: &[Option<f64>], text: fn(f64) -> String) -> String {
    let numbers = || values.iter().flatten().copied();
    match (numbers().reduce(f64::min), numbers().reduce(f64::max)) {
        (Some(least), Some(most)) => format!("{}..{}", text(least), text(most)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use q2c_model::stats::Histogram;

    fn latency_counts(latencies: &[u64]) -> LatencyCounts {
        let mut histogram = Histogram::default();
        latencies.iter().for_each(|ns| histogram.record(*ns));
        LatencyCounts::from(&histogram)
    }

    #[test]
    fn bars_are_shares_of_the_largest_range() {
        // Of the 10, 4 are below 128 us, 1 more below 256 us, none below 512 us, 5 below 1 ms.
        let us = [70, 80, 100, 120, 200, 600, 700, 800, 900, 1_000].map(|us| us * 1_000);
        assert_eq!(
            latency_bars("Q2C", &latency_counts(&us), 38, 5),
            [
                " Q2C from      I/Os   share",
                "  65.5 us         4  40.0 % ████████",
                "   131 us         1  10.0 % ██",
                "   262 us         0     0 %",
                "   524 us         5  50.0 % ██████████",
            ]
        );
        assert!(latency_bars("Q2C", &latency_counts(&us), 38, 2).is_empty());
        let idle = latency_bars("Q2C", &latency_counts(&[]), 60, 5);
        assert!(idle[1].contains("no I/O completed"), "{idle:?}");
        assert_eq!(bar(1e-9, 10), "▏");
    }

    #[test]
    fn a_course_ends_with_the_newest() {
        let values = [Some(8.0), None, Some(0.0), Some(1.0), Some(4.0)];
        assert_eq!(sparkline(&values, 7), "  █ ▁▁▄");
        assert_eq!(sparkline(&values, 2), "▂█");
        assert_eq!(sparkline(&[Some(0.0)], 2), " ▁");
        assert_eq!(least_most(&values, quantity::number), "0..8.00");
        assert_eq!(least_most(&[None], quantity::number), "");
    }

    proptest! {
        #[test]
        fn every_line_fits(
            latencies in prop::collection::vec(any::<u64>(), 0..50),
            values in prop::collection::vec(prop::option::of(any::<f64>()), 0..50),
            width in 0usize..130,
            height in 0usize..40,
        ) {
            let lines = latency_bars("U2C", &latency_counts(&latencies), width, height);
            prop_assert!(lines.len() <= height);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width), "{:?}", lines);
            prop_assert_eq!(sparkline(&values, width).chars().count(), width);
        }
    }
}

//! Puts intervals into the columns of a chart.

use super::state::ShownIntervals;
use q2c_result::watch::{WatchInterval, WatchNumbers};

/// A column has one interval, or several when the chart has fewer columns than a minute has
/// intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchColumn {
    numbers: Vec<WatchNumbers>,
    /// The method at the end of the column, as a row of `WatchState::names`. `None` in a column
    /// without intervals, and while the method changes.
    pub method: Option<usize>,
    /// Whether the method changed within the column, or at its begin.
    pub changed: bool,
}

impl WatchColumn {
    /// The value of each interval; `None` where it has none.
    pub(crate) fn values(
        &self,
        value: fn(&WatchNumbers) -> Option<f64>,
    ) -> impl Iterator<Item = Option<f64>> {
        self.numbers.iter().map(value)
    }

    /// The mean of `value` over the intervals that have one; `None` when none has.
    pub(crate) fn mean(&self, value: fn(&WatchNumbers) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.values(value).flatten().collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn take(&mut self, interval: &WatchInterval, before: Option<&WatchInterval>) {
        self.numbers.push(interval.numbers);
        self.changed |= before.is_some_and(|before| before.method != interval.method);
        self.method = interval.method;
    }
}

/// The last `width` columns, the newest to the right, with empty ones to the left of the first. As
/// many intervals share a column as are needed to show `minute` intervals.
pub(crate) fn columns(shown: &ShownIntervals, width: usize, minute: usize) -> Vec<WatchColumn> {
    let per_column = minute.div_ceil(width.max(1)).max(1);
    let mut columns: Vec<WatchColumn> = Vec::new();
    let mut place = None;
    for (n, interval) in shown.intervals.iter().enumerate() {
        // Intervals are grouped by their number since the start, so that a column keeps its
        // intervals while it moves to the left.
        let now = (shown.first + n as u64) / per_column as u64;
        if place != Some(now) {
            columns.push(WatchColumn::default());
            place = Some(now);
        }
        let before = n.checked_sub(1).map(|n| &shown.intervals[n]);
        if let Some(column) = columns.last_mut() {
            column.take(interval, before);
        }
    }
    columns.drain(..columns.len().saturating_sub(width));
    let mut padded = vec![WatchColumn::default(); width - columns.len()];
    padded.append(&mut columns);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;

    fn shown(first: u64, count: usize, changes_at: usize) -> ShownIntervals {
        let interval = |n: usize| WatchInterval {
            method: Some(usize::from(n >= changes_at)),
            numbers: WatchNumbers {
                rates: Rates {
                    iops: Some(n as f64),
                    ..Rates::default()
                },
                ..WatchNumbers::default()
            },
            ..WatchInterval::default()
        };
        let intervals = (0..count).map(interval).collect();
        ShownIntervals {
            first,
            intervals,
            ..ShownIntervals::default()
        }
    }

    fn values(columns: &[WatchColumn]) -> Vec<Option<f64>> {
        columns.iter().map(|c| c.mean(|n| n.rates.iops)).collect()
    }

    #[test]
    fn the_newest_stands_to_the_right() {
        let few = columns(&shown(0, 2, 1), 4, 3);
        assert_eq!(values(&few), [None, None, Some(0.0), Some(1.0)]);
        assert_eq!(
            few.iter().map(|c| c.changed).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        let many = columns(&shown(0, 6, 9), 4, 3);
        assert_eq!(values(&many), [2.0, 3.0, 4.0, 5.0].map(Some));
        assert!(many.iter().all(|c| !c.changed));
    }

    /// Six intervals a minute on three columns make two per column. The first of the two has an
    /// even number since the start.
    #[test]
    fn several_intervals_share_a_column() {
        let even = columns(&shown(10, 4, 3), 3, 6);
        assert_eq!(values(&even), [None, Some(0.5), Some(2.5)]);
        assert!(even[2].changed && !even[1].changed && even[2].method == Some(1));
        let odd = columns(&shown(11, 4, 9), 3, 6);
        assert_eq!(values(&odd), [0.0, 1.5, 3.0].map(Some));
    }

    #[test]
    fn no_room_is_no_column() {
        assert!(columns(&shown(0, 4, 9), 0, 60).is_empty());
        assert!(
            columns(&ShownIntervals::default(), 2, 60)
                .iter()
                .all(|c| c.method.is_none())
        );
    }
}

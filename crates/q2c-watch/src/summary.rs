//! Sums up many intervals in one row per method.

use q2c_model::Rates;
use q2c_model::stats::{median, sorted};
use q2c_policy::LaneMethod;
use q2c_result::late::LateNumbers;
use q2c_result::mode::WaitMode;
use q2c_result::watch::{WatchInterval, WatchMethod, WatchNumbers};

/// One row for each method; its flag in `methods` says whether the background was at work.
pub fn summarize(methods: &[(LaneMethod, bool)], intervals: &[WatchInterval]) -> Vec<WatchMethod> {
    let row = |(n, (method, background)): (usize, &(LaneMethod, bool))| {
        let own_intervals = intervals.iter().filter(|i| i.method == Some(n));
        let (settled, settling): (Vec<_>, Vec<_>) = own_intervals.partition(|i| i.settled);
        WatchMethod {
            was: most_frequent(&settled),
            intervals: settled.len() as u64,
            settling: settling.len() as u64,
            median: (!settled.is_empty()).then(|| medians(&settled)),
            ..WatchMethod::new(method.clone().into(), *background)
        }
    };
    methods.iter().enumerate().map(row).collect()
}

/// The most frequent mode; on a tie, the one that came first.
fn most_frequent(intervals: &[&WatchInterval]) -> Option<WaitMode> {
    let mut counts: Vec<(&WaitMode, usize)> = Vec::new();
    for was in intervals.iter().filter_map(|i| i.was.as_ref()) {
        match counts.iter_mut().find(|(mode, _)| *mode == was) {
            Some((_, count)) => *count += 1,
            None => counts.push((was, 1)),
        }
    }
    let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    best.map(|(was, _)| was.clone())
}

fn medians(intervals: &[&WatchInterval]) -> WatchNumbers {
    let median_of = |value: fn(&WatchNumbers) -> Option<f64>| {
        known_median(intervals.iter().map(|i| value(&i.numbers)).collect())
    };
    let rates: Rates<Vec<Option<f64>>> = intervals.iter().map(|i| i.numbers.rates).collect();
    WatchNumbers {
        rates: rates.map(known_median),
        slept_ns: median_of(|n| n.slept_ns),
        p50_ns: median_of(|n| n.p50_ns),
        p99_ns: median_of(|n| n.p99_ns),
        switches_per_io: median_of(|n| Some(n.switches_per_io)).unwrap_or(0.0),
        interrupts_per_io: median_of(|n| n.interrupts_per_io),
        background_iops: median_of(|n| n.background_iops),
        late: LateNumbers::merge_all(intervals.iter().filter_map(|i| i.numbers.late)),
    }
}

fn known_median(values: Vec<Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.into_iter().flatten().collect();
    (!known.is_empty()).then(|| median(&sorted(&known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::mode::ModeKind;

    fn sample(method: Option<usize>, settled: bool, iops: f64, miss: Option<f64>) -> WatchInterval {
        WatchInterval {
            method,
            settled,
            was: Some(WaitMode::from_kind(if iops > 15.0 {
                ModeKind::Hybrid
            } else {
                ModeKind::Poll
            })),
            numbers: WatchNumbers {
                rates: Rates {
                    iops: Some(iops),
                    miss_rate: miss,
                    ..Rates::default()
                },
                ..WatchNumbers::default()
            },
            ..WatchInterval::default()
        }
    }

    /// The median of 10, 20 and 90 is 20; the median of the miss rates 0.1 and 0.3 is 0.2.
    #[test]
    fn medians_by_hand() {
        let methods = [(LaneMethod::Poll, false), (LaneMethod::Interrupt, true)];
        let intervals = [
            sample(Some(0), false, 7.0, Some(1.0)),
            sample(Some(0), true, 90.0, Some(0.3)),
            sample(None, false, 8.0, None),
            sample(Some(0), true, 10.0, None),
            sample(Some(0), true, 20.0, Some(0.1)),
            sample(Some(1), false, 50.0, None),
        ];
        let rows = summarize(&methods, &intervals);
        assert_eq!((rows[0].intervals, rows[0].settling), (3, 1));
        let median = rows[0].median.unwrap();
        let rates = (median.rates.iops, median.rates.miss_rate);
        assert_eq!(rates, (Some(20.0), Some(0.2)));
        assert_eq!(median.slept_ns, None);
        assert_eq!(rows[0].was, Some(WaitMode::from_kind(ModeKind::Hybrid)));
        assert_eq!((rows[1].intervals, rows[1].settling), (0, 1));
        assert_eq!((rows[1].median, &rows[1].was), (None, &None));
        assert!(rows[1].background);
    }
}

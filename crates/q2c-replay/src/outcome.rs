//! What a replay gave.

use crate::change::Changes;
use crate::tally::Tally;
use crate::windows::Windows;

/// What a replay gave. Times in ns; those of the schedule count from its start.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// False when it was stopped before the trace's end.
    pub complete: bool,
    /// What all submitting threads counted.
    pub counts: Tally,
    /// Whether the recording says how many requests were in flight.
    pub profiled: bool,
    /// What did not go to a target as recorded.
    pub changed: Changes,
    /// Time in which nothing was in flight on any target, until the end.
    pub idle: u64,
    /// CPU time of reading and recording.
    pub reader_cpu: u64,
    /// Rows that a recording lost.
    pub rows_lost: u64,
    /// The replay in parts of its time.
    pub windows: Vec<WindowSum>,
}

impl Outcome {
    /// The last submission behind its recorded time.
    #[must_use]
    pub fn end_drift(&self) -> i64 {
        self.counts.drift.map_or(0, |(_, drift)| drift)
    }

    /// |in flight before a request here - in the trace|, summed over all requests, over the latter; none without completions.
    #[must_use]
    pub fn in_flight_error(&self) -> Option<f64> {
        let Tally { off, base, .. } = self.counts;
        (self.profiled && base > 0).then(|| off as f64 / base as f64)
    }

    /// What was wrong with the first request that failed.
    #[must_use]
    pub fn first_error(&self) -> Option<&str> {
        let (_, words) = self.counts.first_error.as_ref()?;
        Some(words)
    }
}

/// A part of the replay's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowSum {
    /// Its begin and length.
    pub from: u64,
    /// See above.
    pub length: u64,
    /// Requests of the recording; none where its times do not count.
    pub recorded_ios: Option<u64>,
    /// Mean of requests in flight in the recording; none where that is not known.
    pub recorded_in_flight: Option<f64>,
    /// Requests submitted.
    pub ios: u64,
    /// Mean of requests in flight.
    pub in_flight: f64,
    /// Largest lateness.
    pub latest: u64,
    /// Latencies of requests submitted here, summed.
    pub sum_u2c: u128,
}

/// Both sides' parts beside each other.
pub(crate) fn windows(mut done: Windows, recorded: Option<Windows>, known: bool) -> Vec<WindowSum> {
    let mut recorded = recorded;
    if let Some(recorded) = &mut recorded {
        recorded.coarsen_to(done.length());
        done.coarsen_to(recorded.length());
    }
    let length = done.length();
    let parts = recorded.as_ref().map_or(&[][..], Windows::parts);
    let count = done.parts().len().max(parts.len());
    let sums = (0..count).map(|at| {
        let here = done.parts().get(at).copied().unwrap_or_default();
        let there = parts.get(at).copied().unwrap_or_default();
        let mean = |ns: u128| ns as f64 / length as f64;
        WindowSum {
            from: at as u64 * length,
            length,
            recorded_ios: recorded.is_some().then_some(there.ios),
            recorded_in_flight: (recorded.is_some() && known).then(|| mean(there.in_flight_ns)),
            ios: here.ios,
            in_flight: mean(here.in_flight_ns),
            latest: here.latest_ns,
            sum_u2c: here.latency_ns,
        }
    });
    sums.collect()
}

//! What a replay gave.

use crate::windows::Windows;
use q2c_stats::Histogram;
use std::collections::BTreeMap;

/// What a replay gave. Times in ns; those of the schedule count from its start.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// False when it was stopped before the trace's end.
    pub complete: bool,
    /// Requests submitted.
    pub issued: u64,
    /// Of those, failed or short.
    pub errors: u64,
    /// The first of these.
    pub first_error: Option<String>,
    /// Bytes moved.
    pub bytes: u64,
    /// The last completion.
    pub end: u64,
    /// Submission to reaping.
    pub u2c: Histogram,
    /// Its exact sum.
    pub sum_u2c: u128,
    /// Intended time to reaping.
    pub intended: Histogram,
    /// Its exact sum.
    pub sum_intended: u128,
    /// Submission behind the intended time.
    pub lateness: Histogram,
    /// The same without time in submissions, of requests that neither the cap of requests in flight nor a submission that slept held up.
    pub own: Histogram,
    /// Requests that such a thing held up, and their lateness in all.
    pub stalled: u64,
    /// See above.
    pub stalled_ns: u128,
    /// Times at which no place in flight was free.
    pub capped: u64,
    /// Submissions that slept in the kernel.
    pub blocked: u64,
    /// The last submission behind its recorded time.
    pub end_drift: i64,
    /// Most requests of one device in flight at a submission, itself included.
    pub most_in_flight: u64,
    /// |in flight before a request here - in the trace|, summed over all requests, over the latter; none without completions.
    pub in_flight_error: Option<f64>,
    /// Requests submitted before one that they overlap and that stands before them in the trace.
    pub order_inversions: u64,
    /// What did not go to a target as recorded, by reason.
    pub changed: BTreeMap<String, u64>,
    /// Time in which nothing was in flight on any target, until the end.
    pub idle: u64,
    /// Time in submissions, of all threads.
    pub submission: u64,
    /// CPU time of the submitting threads.
    pub submitter_cpu: u64,
    /// CPU time of reading and recording.
    pub reader_cpu: u64,
    /// Rows that a recording lost.
    pub rows_lost: u64,
    /// The replay in parts of its time.
    pub windows: Vec<WindowSum>,
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
pub fn windows(mut done: Windows, recorded: Option<Windows>, known: bool) -> Vec<WindowSum> {
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

//! The counts of submitting threads.

use crate::windows::WindowSeries;
use q2c_model::stats::Histogram;

/// Counts of one submitting thread, or of all. Times count from the schedule's start.
#[derive(Clone, Debug, Default)]
pub struct ReplayCounts {
    /// Requests submitted.
    pub issued: u64,
    /// Reads and writes among `issued`: requests that move data, no flushes and discards.
    pub transfers: u64,
    /// Requests that failed or moved fewer bytes than asked.
    pub errors: u64,
    /// Index in the trace of the first request that failed, and its error in words.
    pub first_error: Option<(u64, String)>,
    /// Bytes moved by requests that did not fail.
    pub bytes: u64,
    /// U2C: times from submission to reaping.
    pub u2c_ns: Histogram,
    /// Times from the intended time to reaping.
    pub u2c_intended_ns: Histogram,
    /// Exact sum of the times in `u2c_ns`.
    pub sum_u2c_ns: u128,
    /// Exact sum of the times in `u2c_intended_ns`.
    pub sum_u2c_intended_ns: u128,
    /// Times from the intended time to the submission.
    pub lateness_ns: Histogram,
    /// Lateness less submissions' time in it, of requests not in `held_up`.
    pub own_lateness_ns: Histogram,
    /// Requests that were held up by the cap of requests in flight, or by a submission that slept.
    pub held_up: u64,
    /// Sum of the lateness of the requests in `held_up`.
    pub held_up_ns: u128,
    /// Times at which a request was due and the cap of requests in flight was reached.
    pub capped: u64,
    /// Submissions that slept in the kernel.
    pub blocked: u64,
    /// Index of the last request in the trace, and its submission less its recorded time.
    pub last_drift_ns: Option<(u64, i64)>,
    /// Time of the last reaping.
    pub end_ns: u64,
    /// Most requests of one device in flight at a submission, the new request included.
    pub most_in_flight: u64,
    /// The same in the trace, where it tells it; 0 where it does not.
    pub most_recorded: u64,
    /// |requests in flight here - in the trace| before a request, summed over the requests for
    /// which the trace tells it.
    pub in_flight_off: u128,
    /// Requests in flight in the trace before a request, summed over the same requests.
    pub in_flight_recorded: u128,
    /// Requests that went before one that they overlap and that precedes them in the trace.
    pub inversions: u64,
    /// Time in submissions, summed over threads.
    pub submission_ns: u64,
    /// Time with something in flight and nothing to submit or to reap, summed over threads.
    pub waited_ns: u64,
    /// CPU time of the submitting threads.
    pub cpu_ns: u64,
    pub(crate) windows: WindowSeries,
}

impl ReplayCounts {
    /// Counts of no request yet, with sums over `windows`.
    pub(crate) fn new(windows: WindowSeries) -> Self {
        ReplayCounts {
            windows,
            ..ReplayCounts::default()
        }
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(&mut self, other: ReplayCounts) {
        self.issued += other.issued;
        self.transfers += other.transfers;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.sum_u2c_ns += other.sum_u2c_ns;
        self.sum_u2c_intended_ns += other.sum_u2c_intended_ns;
        self.held_up += other.held_up;
        self.held_up_ns += other.held_up_ns;
        self.capped += other.capped;
        self.blocked += other.blocked;
        self.in_flight_off += other.in_flight_off;
        self.in_flight_recorded += other.in_flight_recorded;
        self.inversions += other.inversions;
        self.submission_ns += other.submission_ns;
        self.waited_ns += other.waited_ns;
        self.cpu_ns += other.cpu_ns;
        self.end_ns = self.end_ns.max(other.end_ns);
        self.most_in_flight = self.most_in_flight.max(other.most_in_flight);
        self.most_recorded = self.most_recorded.max(other.most_recorded);
        self.last_drift_ns = self.last_drift_ns.max(other.last_drift_ns);
        let errors = [self.first_error.take(), other.first_error];
        self.first_error = errors.into_iter().flatten().min();
        self.u2c_ns.merge(&other.u2c_ns);
        self.u2c_intended_ns.merge(&other.u2c_intended_ns);
        self.lateness_ns.merge(&other.lateness_ns);
        self.own_lateness_ns.merge(&other.own_lateness_ns);
        self.windows.merge(other.windows);
    }
}

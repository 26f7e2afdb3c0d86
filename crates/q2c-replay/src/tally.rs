//! The counts of submitting threads.

use crate::windows::Windows;
use q2c_stats::Histogram;

/// Counts of one submitting thread, or of all of them after [`Tally::merge`]. Times are in ns;
/// points in time count from the schedule's start.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Requests submitted.
    pub issued: u64,
    /// Requests that failed or moved fewer bytes than asked.
    pub errors: u64,
    /// Index in the trace of the first request that failed, and its error in words.
    pub first_error: Option<(u64, String)>,
    /// Bytes moved by requests that did not fail.
    pub bytes: u64,
    /// Times from submission to reaping.
    pub u2c: Histogram,
    /// Times from the intended time to reaping.
    pub intended: Histogram,
    /// Exact sum of the times in `u2c`.
    pub sum_u2c: u128,
    /// Exact sum of the times in `intended`.
    pub sum_intended: u128,
    /// Times from the intended time to the submission.
    pub lateness: Histogram,
    /// Lateness less the time that submissions took in it, of the requests that are not in
    /// `stalled`.
    pub own: Histogram,
    /// Requests that were held up by the cap of requests in flight, or by a submission that slept.
    pub stalled: u64,
    /// Sum of the lateness of the requests in `stalled`.
    pub stalled_ns: u128,
    /// Times at which a request was due and the cap of requests in flight was reached.
    pub capped: u64,
    /// Submissions that slept in the kernel.
    pub blocked: u64,
    /// Index of the last request in the trace, and its submission less its recorded time.
    pub drift: Option<(u64, i64)>,
    /// Time of the last reaping.
    pub end: u64,
    /// Most requests of one device in flight at a submission, the new request included.
    pub most_in_flight: u64,
    /// |requests in flight here - in the trace| before a request, summed over the requests for
    /// which the trace tells it.
    pub off: u128,
    /// Requests in flight in the trace before a request, summed over the same requests.
    pub base: u128,
    /// Requests submitted before one that they overlap (one of them writing) and that stands before
    /// them in the trace.
    pub inversions: u64,
    /// Time in submissions, summed over threads.
    pub submission_ns: u64,
    /// Time with something in flight and nothing to submit or to reap, summed over threads.
    pub waited_ns: u64,
    /// CPU time of the submitting threads.
    pub cpu_ns: u64,
    pub(crate) windows: Windows,
}

impl Tally {
    /// A tally that has counted nothing.
    pub fn new(windows: Windows) -> Self {
        Tally {
            issued: 0,
            errors: 0,
            first_error: None,
            bytes: 0,
            u2c: Histogram::default(),
            intended: Histogram::default(),
            sum_u2c: 0,
            sum_intended: 0,
            lateness: Histogram::default(),
            own: Histogram::default(),
            stalled: 0,
            stalled_ns: 0,
            capped: 0,
            blocked: 0,
            drift: None,
            end: 0,
            most_in_flight: 0,
            off: 0,
            base: 0,
            inversions: 0,
            windows,
            submission_ns: 0,
            waited_ns: 0,
            cpu_ns: 0,
        }
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: Tally) {
        self.issued += other.issued;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.sum_u2c += other.sum_u2c;
        self.sum_intended += other.sum_intended;
        self.stalled += other.stalled;
        self.stalled_ns += other.stalled_ns;
        self.capped += other.capped;
        self.blocked += other.blocked;
        self.off += other.off;
        self.base += other.base;
        self.inversions += other.inversions;
        self.submission_ns += other.submission_ns;
        self.waited_ns += other.waited_ns;
        self.cpu_ns += other.cpu_ns;
        self.end = self.end.max(other.end);
        self.most_in_flight = self.most_in_flight.max(other.most_in_flight);
        self.drift = self.drift.max(other.drift);
        let errors = [self.first_error.take(), other.first_error];
        self.first_error = errors.into_iter().flatten().min();
        self.u2c.merge(&other.u2c);
        self.intended.merge(&other.intended);
        self.lateness.merge(&other.lateness);
        self.own.merge(&other.own);
        self.windows.merge(other.windows);
    }
}

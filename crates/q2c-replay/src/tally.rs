//! What submitting threads count.

use crate::windows::Windows;
use q2c_stats::Histogram;

/// Counts of one submitting thread, or of all together. Times in ns, those of the schedule from its start.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Requests submitted.
    pub issued: u64,
    /// Of those, failed or short.
    pub errors: u64,
    /// Index of the first of these, and what was wrong.
    pub first_error: Option<(u64, String)>,
    /// Bytes moved.
    pub bytes: u64,
    /// From submission to reaping.
    pub u2c: Histogram,
    /// From the intended time.
    pub intended: Histogram,
    /// Exact sum of the former.
    pub sum_u2c: u128,
    /// Exact sum of the latter.
    pub sum_intended: u128,
    /// Submission behind the intended time.
    pub lateness: Histogram,
    /// The same without time in submissions, of requests that neither the cap of requests in flight nor a submission that slept held up.
    pub own: Histogram,
    /// Requests that such a thing held up.
    pub stalled: u64,
    /// Their lateness in all.
    pub stalled_ns: u128,
    /// Times at which no place in flight was free.
    pub capped: u64,
    /// Submissions that slept in the kernel.
    pub blocked: u64,
    /// Index, and submission behind the recorded time, of the last request.
    pub drift: Option<(u64, i64)>,
    /// The last reaping.
    pub end: u64,
    /// Most requests of one device in flight at a submission, itself included.
    pub most_in_flight: u64,
    /// |in flight here - in the trace| summed over requests whose profile is known.
    pub off: u128,
    /// In flight in the trace, summed over the same.
    pub base: u128,
    /// Requests submitted before one that they overlap and that stands before them in the trace.
    pub inversions: u64,
    /// Time in submissions.
    pub submission_ns: u64,
    /// Time in which there was nothing to submit or to reap, and something in flight.
    pub waited_ns: u64,
    /// CPU time of the submitting threads.
    pub cpu_ns: u64,
    pub(crate) windows: Windows,
}

impl Tally {
    /// Nothing yet.
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

    /// Adds another thread's.
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

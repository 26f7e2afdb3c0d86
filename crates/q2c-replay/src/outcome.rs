//! The result of a replay, and the counts of submitting threads that it consists of.

use crate::WindowSeries;
use q2c_model::replay::Changes;
use q2c_model::stats::Histogram;

/// Counts of one submitting thread, or of all of them. Times count from the schedule's start.
#[derive(Clone, Debug, Default)]
pub struct ReplayCounts {
    /// Number of requests submitted.
    pub issued: u64,
    /// Number of reads and writes among `issued`; flushes and discards move no data.
    pub transfers: u64,
    /// Number of requests that failed or moved fewer bytes than requested.
    pub errors: u64,
    /// Index in the trace of the first failed request, and its error in words.
    pub first_error: Option<(u64, String)>,
    /// Bytes moved by requests without errors.
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
    /// Lateness minus the time of submissions in it, for requests that are not in `held_up`.
    pub own_lateness_ns: Histogram,
    /// Number of requests delayed by the limit of requests in flight, or by a sleeping submission.
    pub held_up: u64,
    /// Sum of the lateness of the `held_up` requests.
    pub held_up_ns: u128,
    /// How often a request was due but the limit of requests in flight was reached.
    pub capped: u64,
    /// Number of submissions that slept in the kernel.
    pub blocked: u64,
    /// Index of the last request in the trace, and its submission time minus its recorded time, ns.
    pub last_drift_ns: Option<(u64, i64)>,
    /// Time of the last reaping, ns.
    pub end_ns: u64,
    /// Most requests of one device in flight at a submission, the new one included.
    pub max_in_flight: u64,
    /// The same number in the trace; 0 if the trace does not have it.
    pub max_recorded: u64,
    /// |requests in flight here - in the trace| before a request, summed over requests for which
    /// the trace has that number.
    pub in_flight_diff: u128,
    /// Requests in flight in the trace before a request, summed over the same requests.
    pub in_flight_recorded: u128,
    /// Number of requests that went before an overlapping request that precedes them in the trace.
    pub inversions: u64,
    /// Time spent in submissions, summed over threads.
    pub submission_ns: u64,
    /// Time with something in flight but nothing to submit or reap, summed over threads.
    pub waited_ns: u64,
    /// CPU time of the submitting threads, ns.
    pub cpu_ns: u64,
    pub(crate) windows: WindowSeries,
}

impl ReplayCounts {
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
        self.in_flight_diff += other.in_flight_diff;
        self.in_flight_recorded += other.in_flight_recorded;
        self.inversions += other.inversions;
        self.submission_ns += other.submission_ns;
        self.waited_ns += other.waited_ns;
        self.cpu_ns += other.cpu_ns;
        self.end_ns = self.end_ns.max(other.end_ns);
        self.max_in_flight = self.max_in_flight.max(other.max_in_flight);
        self.max_recorded = self.max_recorded.max(other.max_recorded);
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

/// The result of a replay. Times count from the schedule's start.
#[derive(Clone, Debug)]
pub struct ReplayOutcome {
    /// False if the replay was stopped or failed before the trace's end.
    pub complete: bool,
    /// Counts of all submitting threads together.
    pub counts: ReplayCounts,
    /// True if the trace says how many requests were in flight.
    pub profiled: bool,
    /// Number of requests that did not go to a target as recorded, by reason.
    pub changed: Changes,
    /// Time between start and last completion in which nothing was in flight on any target.
    pub idle_ns: u64,
    /// CPU time of the reader and the recorder.
    pub reader_cpu_ns: u64,
    /// Number of rows that the recording lost.
    pub rows_lost: u64,
    /// The replay in windows of equal length.
    pub windows: Vec<WindowSum>,
}

impl ReplayOutcome {
    /// Submission time of the last request minus its recorded time, ns; negative if it was early.
    pub fn end_drift_ns(&self) -> i64 {
        self.counts.last_drift_ns.map_or(0, |(_, ns)| ns)
    }

    /// The difference of the replay from the trace: the sum of |in flight before a request here -
    /// in the trace| over the sum of those in the trace. `None` without completions.
    pub fn in_flight_error(&self) -> Option<f64> {
        let (diff, recorded) = (self.counts.in_flight_diff, self.counts.in_flight_recorded);
        (self.profiled && recorded > 0).then(|| diff as f64 / recorded as f64)
    }

    /// The error of the first request that failed, in words.
    pub fn first_error(&self) -> Option<&str> {
        let (_, words) = self.counts.first_error.as_ref()?;
        Some(words)
    }
}

/// One window: a piece of the replay's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowSum {
    /// Begin of the window, from the replay's start.
    pub from_ns: u64,
    /// Length of the window.
    pub length_ns: u64,
    /// Number of recorded requests in it; `None` in modes without recorded times.
    pub recorded_ios: Option<u64>,
    /// Mean number of requests in flight in the recording; `None` if it is not known.
    pub recorded_in_flight: Option<f64>,
    /// Number of requests submitted in it.
    pub ios: u64,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Largest lateness of a request submitted in this window, ns.
    pub max_late_ns: u64,
    /// Sum of the U2C of the requests submitted in this window, ns.
    pub sum_u2c_ns: u128,
}

/// Joins the windows of the replay and of the recording, after making their lengths equal.
pub(crate) fn join_windows(
    mut done: WindowSeries,
    mut recorded: Option<WindowSeries>,
    profiled: bool,
) -> Vec<WindowSum> {
    if let Some(recorded) = &mut recorded {
        recorded.coarsen_to(done.length_ns);
        done.coarsen_to(recorded.length_ns);
    }
    let length_ns = done.length_ns;
    let recorded_sums = recorded.as_ref().map_or(&[][..], |recorded| &recorded.sums);
    let count = done.sums.len().max(recorded_sums.len());
    let knows_in_flight = recorded.is_some() && profiled;
    let sums = (0..count).map(|index| {
        let replayed_window = done.sums.get(index).copied().unwrap_or_default();
        let recorded_window = recorded_sums.get(index).copied().unwrap_or_default();
        let mean = |ns: u128| ns as f64 / length_ns as f64;
        WindowSum {
            from_ns: index as u64 * length_ns,
            length_ns,
            recorded_ios: recorded.is_some().then_some(recorded_window.ios),
            recorded_in_flight: knows_in_flight.then(|| mean(recorded_window.in_flight_ns)),
            ios: replayed_window.ios,
            in_flight: mean(replayed_window.in_flight_ns),
            max_late_ns: replayed_window.max_late_ns,
            sum_u2c_ns: replayed_window.latency_ns,
        }
    });
    sums.collect()
}

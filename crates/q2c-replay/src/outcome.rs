//! The result of a replay, and the counts of submitting threads that it is made of.

use crate::WindowSeries;
use q2c_model::replay::Changes;
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

/// The result of a replay. Points in time count from the schedule's start.
#[derive(Clone, Debug)]
pub struct ReplayOutcome {
    /// False when the replay was stopped, or failed, before the trace's end.
    pub complete: bool,
    /// Counts of all submitting threads together.
    pub counts: ReplayCounts,
    /// Whether the trace tells how many requests were in flight.
    pub profiled: bool,
    /// Requests that did not go to a target as recorded, by reason.
    pub changed: Changes,
    /// Time from the start to the last completion in which nothing was in flight on any target.
    pub idle_ns: u64,
    /// CPU time of the reader and the recorder.
    pub reader_cpu_ns: u64,
    /// Rows that the recording lost.
    pub rows_lost: u64,
    /// The replay in windows of equal length.
    pub windows: Vec<WindowSum>,
}

impl ReplayOutcome {
    /// Submission of the last request less its recorded time; negative when it went early.
    pub fn end_drift_ns(&self) -> i64 {
        self.counts.last_drift_ns.map_or(0, |(_, ns)| ns)
    }

    /// How far the replay was from the trace: the sum of |in flight before a request here - in the
    /// trace| over that of the trace. `None` without completions.
    pub fn in_flight_error(&self) -> Option<f64> {
        let (off, recorded) = (self.counts.in_flight_off, self.counts.in_flight_recorded);
        (self.profiled && recorded > 0).then(|| off as f64 / recorded as f64)
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
    /// Requests of the recording in it; `None` in modes without recorded times.
    pub recorded_ios: Option<u64>,
    /// Mean number of requests in flight in the recording; `None` where it is not known.
    pub recorded_in_flight: Option<f64>,
    /// Requests submitted.
    pub ios: u64,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Largest lateness of a request submitted in this window.
    pub latest_ns: u64,
    /// Sum of the U2C of the requests submitted in this window.
    pub sum_u2c_ns: u128,
}

/// Joins the windows of the replay and of the recording, after making them equally long.
pub(crate) fn windows(
    mut done: WindowSeries,
    mut recorded: Option<WindowSeries>,
    known: bool,
) -> Vec<WindowSum> {
    if let Some(recorded) = &mut recorded {
        recorded.coarsen_to(done.length_ns);
        done.coarsen_to(recorded.length_ns);
    }
    let length_ns = done.length_ns;
    let recorded_sums = recorded.as_ref().map_or(&[][..], |recorded| &recorded.sums);
    let count = done.sums.len().max(recorded_sums.len());
    let sums = (0..count).map(|at| {
        let here = done.sums.get(at).copied().unwrap_or_default();
        let there = recorded_sums.get(at).copied().unwrap_or_default();
        let mean = |ns: u128| ns as f64 / length_ns as f64;
        WindowSum {
            from_ns: at as u64 * length_ns,
            length_ns,
            recorded_ios: recorded.is_some().then_some(there.ios),
            recorded_in_flight: (recorded.is_some() && known).then(|| mean(there.in_flight_ns)),
            ios: here.ios,
            in_flight: mean(here.in_flight_ns),
            latest_ns: here.latest_ns,
            sum_u2c_ns: here.latency_ns,
        }
    });
    sums.collect()
}

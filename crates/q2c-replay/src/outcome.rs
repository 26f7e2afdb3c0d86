//! The result of a replay.

use crate::{ReplayCounts, WindowSeries};
use q2c_model::replay::Changes;

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

//! The counts of a submitting thread, and the rows of its recording.

use super::submit::{Call, Flight};
use crate::record::ReplayRow;
use crate::{ReplayCounts, RowSender, ScheduledIo, TargetIo};
use q2c_engine::engine::Operation;
use std::collections::VecDeque;

/// Counts the requests of one submitting thread: how late they were, how long they took, and how
/// far the replay was from the trace. Times are ns from the replay's start.
///
/// The thread reports each event once, in the order of time: a request joins a batch, is submitted,
/// is complete. Everything that is counted per request is counted at one of these three.
pub(crate) struct ThreadAccount {
    pub(super) counts: ReplayCounts,
    rows: Option<RowSender>,
    calls: SubmissionCalls,
    /// Time since which the thread only waits for the device, ns; `None` with other work.
    waiting_since_ns: Option<u64>,
}

impl ThreadAccount {
    pub(crate) fn new(counts: ReplayCounts, rows: Option<RowSender>) -> Self {
        ThreadAccount {
            counts,
            rows,
            calls: SubmissionCalls::default(),
            waiting_since_ns: None,
        }
    }

    /// A request joins a batch at `now_ns`, when `in_flight` others are in flight on its device.
    pub(crate) fn count_batched(&mut self, request: &ScheduledIo, in_flight: u32, now_ns: u64) {
        let counts = &mut self.counts;
        counts.max_in_flight = counts.max_in_flight.max(u64::from(in_flight) + 1);
        let moves_data = !matches!(request.io.operation, Operation::Flush | Operation::Discard);
        counts.transfers += u64::from(moves_data);
        if request.in_flight_before != ScheduledIo::UNKNOWN {
            let recorded = u64::from(request.in_flight_before) + 1;
            counts.max_recorded = counts.max_recorded.max(recorded);
            let difference = in_flight.abs_diff(request.in_flight_before);
            counts.in_flight_diff += u128::from(difference);
            counts.in_flight_recorded += u128::from(request.in_flight_before);
        }
        let drift_ns = (now_ns as i64).saturating_sub_unsigned(request.due_ns);
        counts.last_drift_ns = counts.last_drift_ns.max(Some((request.io.index, drift_ns)));
    }

    /// Counts a request of the call. If it was held up, its lateness is not the replayer's own.
    pub(crate) fn count_issued(&mut self, call: Call, intended_ns: u64, held_up: bool) {
        let late_ns = call.begin_ns.saturating_sub(intended_ns);
        let counts = &mut self.counts;
        counts.issued += 1;
        counts.lateness_ns.record(late_ns);
        counts.windows.add_begin(call.begin_ns, late_ns);
        if held_up {
            counts.held_up += 1;
            counts.held_up_ns += u128::from(late_ns);
        } else {
            let in_calls_ns = self.calls.time_since(intended_ns).min(late_ns);
            counts.own_lateness_ns.record(late_ns - in_calls_ns);
        }
    }

    /// Counts a call, after all its requests have been counted.
    pub(crate) fn count_call(&mut self, call: Call) {
        self.calls.add(call.begin_ns, call.end_ns);
        self.end_waiting(call.begin_ns);
        self.counts.blocked += u64::from(call.slept);
    }

    /// Counts a request seen complete at `reap_ns`. Returns true if all its bytes were moved.
    pub(crate) fn count_completed(&mut self, flight: &Flight, reap_ns: u64, result: i32) -> bool {
        self.end_waiting(reap_ns);
        let u2c_ns = reap_ns - flight.submit_ns;
        let from_intended_ns = reap_ns - flight.intended_ns.min(flight.submit_ns);
        let counts = &mut self.counts;
        counts.u2c_ns.record(u2c_ns);
        counts.u2c_intended_ns.record(from_intended_ns);
        counts.sum_u2c_ns += u128::from(u2c_ns);
        counts.sum_u2c_intended_ns += u128::from(from_intended_ns);
        counts.windows.add_flight(flight.submit_ns, reap_ns);
        counts.end_ns = counts.end_ns.max(reap_ns);
        let moved_all = result == flight.io.length as i32;
        if moved_all {
            counts.bytes += u64::from(flight.io.length);
        } else {
            self.count_failed(&flight.io, result);
        }
        if let Some(rows) = &mut self.rows {
            rows.push(ReplayRow {
                io: flight.io,
                submit_ns: flight.submit_ns,
                submit_end_ns: flight.submit_end_ns,
                reap_ns,
                result,
            });
        }
        moved_all
    }

    #[cold]
    fn count_failed(&mut self, io: &TargetIo, result: i32) {
        let counts = &mut self.counts;
        counts.errors += 1;
        let first_error = counts.first_error.as_ref();
        if first_error.is_none_or(|(index, _)| io.index < *index) {
            let outcome = match result {
                0.. => format!("{result} bytes were moved"),
                errno => std::io::Error::from_raw_os_error(-errno).to_string(),
            };
            let (index, operation, offset) = (io.index, io.operation, io.offset);
            let request = format!("request {index}, {operation:?} of {} bytes", io.length);
            counts.first_error = Some((index, format!("{request} at {offset}: {outcome}")));
        }
    }

    /// From `now_ns` on the thread only waits for the device, if it did not do so already.
    pub(crate) fn begin_waiting(&mut self, now_ns: u64) {
        self.waiting_since_ns.get_or_insert(now_ns);
    }

    fn end_waiting(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.waiting_since_ns.take() {
            self.counts.waited_ns += now_ns.saturating_sub(since_ns);
        }
    }

    pub(crate) fn close(mut self) -> (ReplayCounts, Option<RowSender>) {
        self.counts.submission_ns = self.calls.total_ns;
        if let Some(rows) = &mut self.rows {
            rows.flush();
        }
        (self.counts, self.rows)
    }
}

/// Number of latest calls that are remembered. Older calls count as if they had not been made.
const MAX_REMEMBERED_CALLS: usize = 1 << 12;

/// Time spent in submissions. If a request is late because a submission took long, that is not the
/// replayer's own lateness.
#[derive(Debug, Default)]
struct SubmissionCalls {
    /// Begin and end of each call, and the time spent in all earlier calls, ns.
    calls: VecDeque<(u64, u64, u64)>,
    total_ns: u64,
}

impl SubmissionCalls {
    /// Adds a call from `begin_ns` to `end_ns`. Calls MUST be added in the order of time.
    pub(crate) fn add(&mut self, begin_ns: u64, end_ns: u64) {
        if self.calls.len() == MAX_REMEMBERED_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back((begin_ns, end_ns, self.total_ns));
        self.total_ns += end_ns - begin_ns;
    }

    pub(crate) fn time_since(&self, then_ns: u64) -> u64 {
        let has_ended = |(_, end_ns, _): &(u64, u64, u64)| *end_ns <= then_ns;
        if self.calls.back().is_none_or(has_ended) {
            return 0;
        }
        let first = self.calls.get(self.calls.partition_point(has_ended));
        let before_ns = first.map_or(self.total_ns, |(begin_ns, _, before_ns)| {
            before_ns + then_ns.saturating_sub(*begin_ns)
        });
        self.total_ns - before_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        let mut calls = SubmissionCalls::default();
        assert_eq!(calls.time_since(0), 0);
        calls.add(10, 15);
        calls.add(20, 40);
        let since = [0, 10, 12, 15, 17, 20, 39, 40, 99].map(|then| calls.time_since(then));
        assert_eq!(since, [25, 25, 23, 20, 20, 20, 1, 0, 0]);
        assert_eq!(calls.total_ns, 25);
    }
}

//! The parts of U2C by interval, while the workload runs.
//!
//! Requests reach the reader of the capture some time after their completion, and a request that is
//! still on the device is not known yet. So an interval is held back for [`HOLD`] before its I/Os
//! are joined. Requests that the device keeps longer than that do not count as being beside an I/O.

use super::WorkloadInterval;
use q2c_analyze::late::{DeviceRequest, LateTally, Requests};
use q2c_result::late::{LateMisses, LateWatch};
use q2c_workbench::late::{LateCapture, MAX_REQUESTS, unseen_reason};
use q2c_workbench::workload::Workload;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Longer than tracefs holds events back (100 ms) and the reader of the capture sleeps (20 ms).
const HOLD: Duration = Duration::from_millis(150);

/// A capture beside a watched workload, and the intervals that wait for their requests.
pub(super) struct LateView {
    capture: LateCapture,
    requests: Vec<DeviceRequest>,
    not_kept: u64,
    /// The intervals whose requests have not all come, with the moment of each one's end.
    pub waiting: VecDeque<(Instant, WorkloadInterval)>,
    /// For each lane, the last reaping of its joined I/Os, ns. Its later I/Os were submitted after.
    last_reaped_ns: Vec<u64>,
    /// The common start of the lanes, ns of CLOCK_MONOTONIC.
    pub start_ns: u64,
}

/// The most misses that an interval lists one by one.
const MAX_LISTED_MISSES: usize = 100;

impl LateView {
    pub(crate) fn new(capture: LateCapture) -> Self {
        LateView {
            capture,
            requests: Vec::new(),
            not_kept: 0,
            waiting: VecDeque::new(),
            last_reaped_ns: Vec::new(),
            start_ns: 0,
        }
    }

    pub(crate) fn collect_requests(&mut self) {
        let (requests, not_kept) = self.capture.take();
        let room = MAX_REQUESTS.saturating_sub(self.requests.len());
        let too_many = requests.len().saturating_sub(room);
        self.requests.extend(requests.into_iter().take(room));
        self.not_kept += not_kept + too_many as u64;
    }

    /// The oldest interval, with its I/Os joined to requests, once it was held long enough. `tids`
    /// are the lanes' threads, those of the foreground first.
    pub(crate) fn next(&mut self, workload: &Workload, tids: &[u32]) -> Option<WorkloadInterval> {
        let (end, _) = self.waiting.front()?;
        (end.elapsed() >= HOLD).then_some(())?;
        let (_, mut interval) = self.waiting.pop_front()?;
        let samples = std::mem::take(&mut interval.samples);
        let requests = Requests::new(&self.requests);
        let mut tally = LateTally::new(self.start_ns, 0, 1);
        self.last_reaped_ns.resize(samples.len(), 0);
        let lanes = samples.iter().zip(tids).zip(&mut self.last_reaped_ns);
        for ((samples, tid), last_reaped_ns) in lanes {
            for sample in samples {
                let io = workload.user_io(sample);
                tally.add(io.reap_ns, &requests.join(*tid, &io));
                *last_reaped_ns = io.reap_ns;
            }
        }
        interval.late = Some(tally.totals());
        interval.misses = tally.lateness_of_misses().map(|lateness| LateMisses {
            lateness,
            kept: tally.misses_kept(MAX_LISTED_MISSES),
        });
        // A request that completed before `oldest_ns` is beside no I/O that is still to be joined.
        let oldest_ns = self.last_reaped_ns.iter().copied().min().unwrap_or(0);
        self.requests.retain(|request| request.end_ns >= oldest_ns);
        Some(interval)
    }

    pub(crate) fn end(self) -> LateWatch {
        let captured_by = self.capture.captured_by();
        match self.capture.end() {
            Ok(collected) => LateWatch::Seen {
                captured_by,
                reader_cpu_pct: collected.reader_cpu_pct(),
                lost: collected.missing.lost,
                not_kept: self.not_kept + collected.not_kept,
            },
            Err(error) => LateWatch::Unseen(unseen_reason(&error)),
        }
    }
}

//! Requests of a device by thread and by time, and the join of an I/O with its requests.

use q2c_model::{Op, U2cParts};
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::NONE;
use std::collections::HashMap;

/// A request of the block layer. Times are ns of CLOCK_MONOTONIC, [`NONE`] if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// Thread that queued the request.
    pub tid: u32,
    /// Its operation.
    pub op: Op,
    /// True if it was merged into another request. It then counts with its bytes, not as a request.
    pub carried: bool,
    /// Length, bytes.
    pub bytes: u64,
    /// When the request was queued (Q).
    pub queue_ns: u64,
    /// When the request was handed to the driver (D).
    pub issue_ns: u64,
    /// When the driver completed the request (C).
    pub end_ns: u64,
}

impl From<&RecordedIo> for DeviceRequest {
    fn from(io: &RecordedIo) -> Self {
        DeviceRequest {
            tid: io.tid,
            op: io.span.op,
            carried: io.lead != 0,
            bytes: io.span.bytes,
            queue_ns: io.span.begin_ns,
            issue_ns: io.span.issue_ns,
            end_ns: io.span.end_ns,
        }
    }
}

fn has_times(request: &DeviceRequest) -> bool {
    request.issue_ns != NONE && request.end_ns != NONE
}

/// An I/O of a thread, in the thread's own view. Times are ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserIo {
    /// Its operation.
    pub op: Op,
    /// Bytes that the I/O moved.
    pub bytes: u64,
    /// When the submission started.
    pub submit_ns: u64,
    /// When the submitting call returned; `None` if one call submits and waits.
    pub submit_end_ns: Option<u64>,
    /// The sleep; `None` if the thread did not sleep.
    pub sleep: Option<Sleep>,
    /// When the thread reaped the completion.
    pub reap_ns: u64,
    /// True if the first poll after the wake-up found the completion.
    pub missed: bool,
}

/// The sleep of a thread for one I/O. Times are ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// When the sleep should have ended: its start plus the sleep asked.
    pub due_ns: u64,
    /// When the thread was awake again.
    pub woke_ns: u64,
}

/// An I/O that was joined with its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinedIo {
    /// The parts of U2C, which add up to it, ns.
    pub parts: U2cParts<u64>,
    /// When the last of its requests completed.
    pub end_ns: u64,
    /// When the I/O was reaped.
    pub reap_ns: u64,
    /// True if the first poll after the wake-up found the completion.
    pub missed: bool,
    /// Other requests that the device had at `end_ns`, and their bytes.
    pub beside: (u64, u64),
}

impl JoinedIo {
    /// From the completion, or the later return of the call, to the wake-up, ns.
    pub(crate) fn late_ns(&self) -> u64 {
        self.parts.oversleep_ns + self.parts.wakeup_ns
    }
}

/// Why an I/O was not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The thread queued no request of this operation while the I/O was under way.
    NoRequest,
    /// The requests moved more or fewer bytes than the I/O.
    OtherBytes,
    /// A request has no time of hand-over (D) or of completion (C).
    NoTimes,
    /// Submission, hand-over and completion are not in this order.
    OutOfOrder,
    /// The completion is later than the reaping.
    CompletedAfterReap,
}

/// Requests of one device, sorted for each kind of look-up.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Each thread's requests, in the order of queueing.
    by_thread: HashMap<u32, Vec<DeviceRequest>>,
    issued: CumulativeCounts,
    ended: CumulativeCounts,
}

impl Requests {
    /// Takes the requests of a capture, in any order.
    pub fn new(requests: &[DeviceRequest]) -> Self {
        let mut by_thread: HashMap<u32, Vec<DeviceRequest>> = HashMap::new();
        for request in requests {
            by_thread.entry(request.tid).or_default().push(*request);
        }
        for of_thread in by_thread.values_mut() {
            of_thread.sort_unstable_by_key(|request| request.queue_ns);
        }
        let size = |r: &DeviceRequest| (u64::from(!r.carried), r.bytes);
        let timed = || requests.iter().filter(|r| has_times(r));
        Requests {
            by_thread,
            issued: CumulativeCounts::new(timed().map(|r| (r.issue_ns, size(r)))),
            ended: CumulativeCounts::new(timed().map(|r| (r.end_ns, size(r)))),
        }
    }

    /// Number and bytes of the requests on the device, without those that complete at `at_ns`.
    pub(crate) fn on_device(&self, at_ns: u64) -> (u64, u64) {
        let (issued, issued_bytes) = self.issued.at_time(at_ns);
        let (ended, ended_bytes) = self.ended.at_time(at_ns);
        let requests = issued.saturating_sub(ended);
        (requests, issued_bytes.saturating_sub(ended_bytes))
    }

    /// Joins an I/O with the requests of its operation that its thread queued between its
    /// submission and its reaping. The thread must have no other I/O of this operation under way.
    pub fn join(&self, tid: u32, io: &UserIo) -> Result<JoinedIo, Mismatch> {
        let (first_issue, end_ns) = self.request_span(tid, io)?;
        if first_issue < io.submit_ns || end_ns < first_issue {
            return Err(Mismatch::OutOfOrder);
        }
        if end_ns > io.reap_ns {
            return Err(Mismatch::CompletedAfterReap);
        }
        // The thread cannot oversleep before the submitting call has returned.
        let free_ns = io.submit_end_ns.unwrap_or(end_ns).max(end_ns);
        // A thread that woke before the completion still had to wait for it, so it was not late.
        let late_sleep = io.sleep.filter(|sleep| sleep.woke_ns > free_ns);
        let wake_ns = late_sleep.map_or(free_ns, |sleep| sleep.woke_ns);
        let reap_ns = io.reap_ns.checked_sub(wake_ns);
        let reap_ns = reap_ns.ok_or(Mismatch::OutOfOrder)?;
        let due_ns = late_sleep.map_or(free_ns, |sleep| sleep.due_ns.clamp(free_ns, wake_ns));
        Ok(JoinedIo {
            parts: U2cParts {
                submission_ns: first_issue - io.submit_ns,
                device_ns: end_ns - first_issue,
                return_ns: free_ns - end_ns,
                oversleep_ns: due_ns - free_ns,
                wakeup_ns: wake_ns - due_ns,
                reap_ns,
            },
            end_ns,
            reap_ns: io.reap_ns,
            missed: io.missed,
            beside: self.on_device(end_ns),
        })
    }

    /// The first hand-over and the last completion of an I/O's requests, ns.
    fn request_span(&self, tid: u32, io: &UserIo) -> Result<(u64, u64), Mismatch> {
        let requests = self.by_thread.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = requests.partition_point(|r| r.queue_ns < io.submit_ns);
        let (mut bytes, mut first_issue, mut last_end, mut all_timed) = (0, NONE, 0, true);
        let queued = requests[from..].iter();
        let in_time = queued.take_while(|r| r.queue_ns <= io.reap_ns);
        for request in in_time.filter(|r| r.op == io.op) {
            bytes += request.bytes;
            all_timed &= has_times(request);
            first_issue = first_issue.min(request.issue_ns);
            last_end = last_end.max(request.end_ns);
        }
        match bytes {
            0 => Err(Mismatch::NoRequest),
            bytes if bytes != io.bytes => Err(Mismatch::OtherBytes),
            _ if !all_timed => Err(Mismatch::NoTimes),
            _ => Ok((first_issue, last_end)),
        }
    }
}

/// Instants in rising order, each with the sums (requests, bytes) up to and including it.
#[derive(Clone, Debug, Default)]
struct CumulativeCounts {
    instants: Vec<u64>,
    sums: Vec<(u64, u64)>,
}

impl CumulativeCounts {
    fn new(instants: impl Iterator<Item = (u64, (u64, u64))>) -> Self {
        let mut sorted: Vec<_> = instants.collect();
        sorted.sort_unstable();
        let mut counts = CumulativeCounts::default();
        let mut sum = (0, 0);
        for (at, (requests, bytes)) in sorted {
            sum = (sum.0 + requests, sum.1 + bytes);
            counts.instants.push(at);
            counts.sums.push(sum);
        }
        counts
    }

    fn at_time(&self, at_ns: u64) -> (u64, u64) {
        let passed = self.instants.partition_point(|at| *at <= at_ns);
        passed.checked_sub(1).map_or((0, 0), |n| self.sums[n])
    }
}

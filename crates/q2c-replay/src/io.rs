//! A request of the trace on its way through a replay: as its target gets it, and as the reader
//! schedules it.

use q2c_engine::engine::Operation;

/// A request as its target gets it: for the schedule, in flight, and in the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TargetIo {
    /// Index in the replayed range of the trace, from 0. Requests that are left out have one too.
    pub index: u64,
    pub offset: u64,
    /// Offset at which the device's region of the target begins, bytes.
    pub base: u64,
    pub length: u32,
    /// Device of the trace, by its index in [`crate::ReplayFacts::devices`].
    pub device: u32,
    pub lane: u32,
    pub operation: Operation,
}

/// A request after mapping and scheduling, on its way from the reader to a submitting thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduledIo {
    pub io: TargetIo,
    /// Time from the start with the speed applied; never before that of the one before.
    pub due_ns: u64,
    /// Number of the stream. Requests of one stream are submitted in order.
    pub stream: u32,
    /// In flight on its device in the trace before it; [`ScheduledIo::UNKNOWN`] if unknown.
    pub in_flight_before: u32,
    /// Amount in flight on its device just before it, in the unit of [`crate::Count`].
    pub load_before: u64,
    /// Outstanding mode: time since the device's latest completion, if nothing is in flight. Closed
    /// mode: think time, or time since the lane's last submission.
    pub think_ns: u64,
    /// Whether `think_ns` counts from the lane's last submission, which has no completion.
    pub after_submission: bool,
    /// Streams with requests it overlaps, and how many each must submit before it.
    pub after: Option<Box<[(u32, u64)]>>,
}

impl ScheduledIo {
    /// Value of [`ScheduledIo::in_flight_before`] when it is not known.
    pub(crate) const UNKNOWN: u32 = u32::MAX;
}

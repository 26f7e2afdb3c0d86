//! A request on its way from the reader to a submitting thread.

use q2c_engine::engine::Act;

/// A request after mapping and scheduling.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Index in the replayed part of the trace, from 0. Requests that are left out have one too.
    pub index: u64,
    /// Recorded time from the replay's start, with the speed applied, ns. Never before the time of
    /// the request before it.
    pub due: u64,
    /// The operation on the target.
    pub act: Act,
    /// Offset on the target, bytes.
    pub offset: u64,
    /// Offset at which the device's part of the target begins, bytes.
    pub base: u64,
    /// Length, bytes.
    pub length: u32,
    /// Device of the trace, by its index in [`crate::Facts::devices`].
    pub device: u32,
    /// Number of the stream. Requests of one stream are submitted in order.
    pub stream: u32,
    /// Number of the lane.
    pub lane: u32,
    /// Requests in flight on its device in the trace just before it; [`Item::UNKNOWN`] without
    /// completions.
    pub before: u32,
    /// Amount in flight on its device just before it, in the unit of [`crate::Count`].
    pub load: u64,
    /// Outstanding mode: time since the device's latest completion, ns; 0 where something was in
    /// flight. Closed mode: think time, ns, or with [`Item::gap`] the time since the lane's last
    /// submission.
    pub think: u64,
    /// Whether `think` counts from the lane's last submission, because that request has no
    /// completion.
    pub gap: bool,
    /// Streams with earlier requests that this one overlaps, each with the number of requests that
    /// it must have submitted first.
    pub after: Option<Box<[(u32, u64)]>>,
}

impl Item {
    /// Value of [`Item::before`] when it is not known.
    pub const UNKNOWN: u32 = u32::MAX;
}

//! One request on its way to a submitting thread.

use q2c_engine::engine::Act;

/// A request, mapped and scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Number in the trace, from 0.
    pub index: u64,
    /// Recorded time from the replay's start, speed applied, ns; never before that of the request before it.
    pub due: u64,
    /// What it does.
    pub act: Act,
    /// Bytes on the target.
    pub offset: u64,
    /// Where its device's part of the target begins.
    pub base: u64,
    /// Bytes.
    pub length: u32,
    /// Device of the trace.
    pub device: u32,
    /// Stream: requests of one stream are submitted in order.
    pub stream: u32,
    /// Lane of the trace.
    pub lane: u32,
    /// Requests in flight in the trace just before it, of its device; [`Item::UNKNOWN`] without completions.
    pub before: u32,
    /// The same in what the mode counts.
    pub load: u64,
    /// Outstanding: time since the device's latest completion. Closed: think time, or with [`Item::gap`] the time since the lane's last
    /// submission.
    pub think: u64,
    /// The lane's last request has no completion.
    pub gap: bool,
    /// Streams, and how many of their requests must have been submitted before: earlier ones that it overlaps.
    pub after: Option<Box<[(u32, u64)]>>,
}

impl Item {
    /// No number.
    pub const UNKNOWN: u32 = u32::MAX;
}

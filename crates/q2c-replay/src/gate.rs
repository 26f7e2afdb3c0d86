//! A request on its way through a replay, as its target gets it and as the reader schedules it.
//! Also the rules of the three modes, which say when a stream's first request may go.

use q2c_engine::engine::Operation;
use q2c_model::replay::{Count, Idle, Mode};
use std::collections::VecDeque;

/// A request as its target gets it: in the schedule, in flight, and in the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TargetIo {
    /// Index in the replayed range of the trace, from 0. Requests that are left out count too.
    pub index: u64,
    /// Byte offset in the target, `base` included.
    pub offset: u64,
    /// Byte offset at which the device's region of the target begins.
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
    /// Due time from the start, with the speed applied; never before that of the previous request.
    pub due_ns: u64,
    /// Number of the stream. Requests of one stream are submitted in order.
    pub stream: u32,
    /// Number in flight on its device before it in the trace; [`ScheduledIo::UNKNOWN`] if unknown.
    pub in_flight_before: u32,
    /// Amount in flight on its device just before it in the trace, in the unit of [`crate::Count`].
    pub load_before: u64,
    /// Outstanding mode: time since the device's latest completion, if nothing is in flight. Closed
    /// mode: think time, or time since the lane's last submission.
    pub think_ns: u64,
    /// True if `think_ns` counts from the lane's last submission, because the trace lacks its
    /// completion.
    pub after_submission: bool,
    /// Streams with earlier requests that it overlaps, and how many each must submit first.
    pub waits_for: Option<Box<[(u32, u64)]>>,
}

impl ScheduledIo {
    /// Value of [`ScheduledIo::in_flight_before`] if the number is not known.
    pub(crate) const UNKNOWN: u32 = u32::MAX;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateRule {
    Timed,
    /// A request goes when no more is in flight on its device than just before it in the trace and,
    /// if idle time is kept, the recorded idle time is over.
    Outstanding(Idle),
    /// A request goes when its lane's previous one is complete and the recorded think time is over.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamReadiness {
    /// It may go from this time on, ns from the replay's start; this is its intended time.
    At(u64),
    Now,
    Waits,
}

/// Requests in the order in which their one thread submits them: of a submitting thread in timed
/// mode, of a device in outstanding mode, of a lane in closed mode.
#[derive(Default)]
pub(crate) struct RequestStream {
    /// Number among the streams of all threads.
    pub number: u32,
    pub queue: VecDeque<ScheduledIo>,
    pub in_flight: u32,
    /// Amount in flight, in the unit of [`crate::Count`].
    pub load: u64,
    /// Latest submission and completion, ns from the replay's start; `None` before the first.
    pub submitted_ns: Option<u64>,
    pub completed_ns: Option<u64>,
    /// Number of requests submitted so far.
    pub submitted: u64,
    /// True if the schedule's heap of ready streams contains this stream.
    pub is_in_ready: bool,
}

impl GateRule {
    /// The rule of a mode, and the unit in which the mode counts the amount in flight.
    pub(crate) fn from_mode(mode: &Mode) -> (GateRule, Count) {
        match *mode {
            Mode::Timed { .. } => (GateRule::Timed, Count::Requests),
            Mode::Outstanding { count, idle } => (GateRule::Outstanding(idle), count),
            Mode::Closed { .. } => (GateRule::Closed, Count::Requests),
        }
    }

    pub(crate) fn ready(self, stream: &RequestStream) -> Option<StreamReadiness> {
        let request = stream.queue.front()?;
        Some(match self {
            GateRule::Timed => StreamReadiness::At(request.due_ns),
            GateRule::Outstanding(_) if stream.load > request.load_before => StreamReadiness::Waits,
            GateRule::Outstanding(Idle::Keep) if stream.in_flight == 0 && request.think_ns > 0 => {
                let after = |ns: u64| ns.saturating_add(request.think_ns);
                StreamReadiness::At(stream.completed_ns.map_or(0, after))
            }
            GateRule::Outstanding(_) => StreamReadiness::Now,
            GateRule::Closed if stream.in_flight > 0 => StreamReadiness::Waits,
            GateRule::Closed => StreamReadiness::At(after_think(stream, request)),
        })
    }
}

/// The end of the think time of a lane's next request, ns. Nothing of the lane may be in flight.
fn after_think(lane: &RequestStream, request: &ScheduledIo) -> u64 {
    match (lane.completed_ns, lane.submitted_ns) {
        (Some(completed_ns), Some(submitted_ns)) if request.after_submission => {
            completed_ns.max(submitted_ns.saturating_add(request.think_ns))
        }
        (Some(completed_ns), _) => completed_ns.saturating_add(request.think_ns),
        // The first request of a lane goes at its own time in the trace.
        _ => request.due_ns,
    }
}

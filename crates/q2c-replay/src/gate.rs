//! The rules of the three modes: when the first request of a stream may go.

use crate::item::Item;
use std::collections::VecDeque;

/// The rule by which a mode decides when a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// At its recorded time.
    Timed,
    /// When no more is in flight on its device than was in the trace just before it. With `keep`, a
    /// request before which nothing was in flight also waits for the recorded idle time.
    Outstanding { keep: bool },
    /// When the lane's previous request is complete and the recorded think time is over.
    Closed,
}

/// The answer of a rule for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It may go from this time on, ns from the replay's start; this is its intended time.
    At(u64),
    /// It may go at once.
    Now,
    /// It may not go before another request of the stream completes.
    Waits,
}

/// Requests that one thread submits in order, and what is known about those before them. A stream
/// stands for a submitting thread in timed mode, for a device in outstanding mode and for a lane in
/// closed mode.
#[derive(Default)]
pub struct Stream {
    /// Number among the streams of all threads.
    pub number: u32,
    pub queue: VecDeque<Item>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Amount in flight, in the unit of [`crate::Count`].
    pub load: u64,
    /// Times of the latest submission and the latest completion, ns from the replay's start; `None`
    /// before the first.
    pub submitted: Option<u64>,
    pub completed: Option<u64>,
    /// Requests submitted so far.
    pub count: u64,
    /// Whether the stream stands in the worker's heap of streams that are ready.
    pub queued: bool,
}

impl Rule {
    /// When the first request of the stream may go; `None` when the stream is empty.
    pub fn ready(self, stream: &Stream) -> Option<Ready> {
        let item = stream.queue.front()?;
        Some(match self {
            Rule::Timed => Ready::At(item.due),
            Rule::Outstanding { .. } if stream.load > item.load => Ready::Waits,
            Rule::Outstanding { keep: true } if stream.in_flight == 0 && item.think > 0 => {
                Ready::At(
                    stream
                        .completed
                        .map_or(0, |at| at.saturating_add(item.think)),
                )
            }
            Rule::Outstanding { .. } => Ready::Now,
            Rule::Closed if stream.in_flight > 0 => Ready::Waits,
            Rule::Closed => Ready::At(match (stream.completed, stream.submitted) {
                (Some(completed), Some(submitted)) if item.gap => {
                    completed.max(submitted.saturating_add(item.think))
                }
                (Some(completed), _) => completed.saturating_add(item.think),
                // The lane's first request goes at its own time in the trace.
                _ => item.due,
            }),
        })
    }
}

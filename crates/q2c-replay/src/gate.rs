//! When the next request of a stream may go.

use crate::item::Item;
use std::collections::VecDeque;

/// The rule of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// At its time.
    Timed,
    /// When no more is in flight than there was; `keep` waits as long as nothing was.
    Outstanding { keep: bool },
    /// When its lane's last one is complete, and a think time later.
    Closed,
}

/// When a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// From then on; the schedule means that moment.
    At(u64),
    /// As soon as can be.
    Now,
    /// Not before a completion.
    Waits,
}

/// Requests that are submitted in order.
#[derive(Default)]
pub struct Stream {
    /// Among all threads' streams.
    pub number: u32,
    pub queue: VecDeque<Item>,
    /// Requests in flight.
    pub in_flight: u32,
    /// The same in what the mode counts.
    pub load: u64,
    /// The latest submission and completion, ns from the replay's start; `None` before the first.
    pub submitted: Option<u64>,
    pub completed: Option<u64>,
    /// Requests submitted so far.
    pub count: u64,
    /// Whether it stands in the line of streams that are ready at some time.
    pub queued: bool,
}

impl Rule {
    /// For the first request of the stream; `None` when it has none.
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
                // A lane's first request: its own time in the trace.
                _ => item.due,
            }),
        })
    }
}

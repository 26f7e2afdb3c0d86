//! Computes how many requests of a lane are in flight, from their starts and ends.

use crate::import::error::BadLine;
use q2c_model::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Most requests in flight over all lanes. It bounds memory and is far above what any device takes.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// The ends of the requests in flight, by lane. The starts passed to `submit` must not fall.
#[derive(Default)]
pub(crate) struct Depths {
    lanes: HashMap<u32, BinaryHeap<Reverse<Nanos>>>,
    in_flight: usize,
}

impl Depths {
    /// Counts a request and returns the requests of its lane in flight, itself included. A request
    /// that ends when another starts is no longer in flight. A request without an end counts only
    /// at its own start.
    pub(crate) fn submit(
        &mut self,
        lane: u32,
        start: Nanos,
        end: Option<Nanos>,
    ) -> Result<u32, BadLine> {
        let ends = self.lanes.entry(lane).or_default();
        while ends.peek().is_some_and(|Reverse(end)| *end <= start) {
            ends.pop();
            self.in_flight -= 1;
        }
        if self.in_flight == MOST_IN_FLIGHT {
            let expected = "at most 1048576 requests in flight (is the unit right?)";
            let bad = BadLine::new("too many in flight", "latency", expected, "");
            return Err(bad.found("more"));
        }
        // The bound on requests in flight keeps the number within 32 bits.
        let depth = ends.len() as u32 + 1;
        if let Some(end) = end {
            ends.push(Reverse(end));
            self.in_flight += 1;
        }
        Ok(depth)
    }
}

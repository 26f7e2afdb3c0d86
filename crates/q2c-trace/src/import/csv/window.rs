//! Sorts requests whose rows are in the order of their ends by their starts.

use crate::import::arrange::WINDOW;
use crate::import::error::BadLine;
use q2c_model::{IoRecord, Nanos};

/// A request that waits: its line, its start, and the record.
pub(super) type Waiting = (u64, Nanos, IoRecord);

/// Requests that wait because later rows may have started earlier.
#[derive(Default)]
pub(super) struct Window {
    waiting: Vec<Waiting>,
    /// The start of the last request that left.
    left: Nanos,
}

impl Window {
    /// Takes a request. Returns those that need not wait any more, in order.
    pub(super) fn push(
        &mut self,
        request: Waiting,
    ) -> Result<impl Iterator<Item = Waiting>, BadLine> {
        if request.1 < self.left {
            let expected = "a start not before the requests more than 65536 rows above";
            let found = format!("{} ns before", self.left.0 - request.1.0);
            return Err(BadLine::new("time goes back", "latency", expected, &found));
        }
        self.waiting.push(request);
        let is_full = self.waiting.len() == 2 * WINDOW;
        Ok(self.leave(if is_full { WINDOW } else { 0 }))
    }

    /// The requests that still wait, in order.
    pub(super) fn leave_all(&mut self) -> impl Iterator<Item = Waiting> {
        self.leave(self.waiting.len())
    }

    fn leave(&mut self, count: usize) -> impl Iterator<Item = Waiting> {
        if count > 0 {
            // The sort is stable: requests of one instant keep the order of the source.
            self.waiting.sort_by_key(|(_, start, _)| *start);
            self.left = self.waiting[count - 1].1;
        }
        self.waiting.drain(..count)
    }
}

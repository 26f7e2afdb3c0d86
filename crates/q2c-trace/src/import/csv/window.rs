//! Puts requests in the order of their starts.

use crate::import::arrange::WINDOW;
use crate::import::error::BadLine;
use q2c_model::{IoRecord, Nanos};

pub(super) type CsvRequest = (u64, Nanos, IoRecord);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CsvRowOrder {
    Starts,
    Ends,
    Any,
}

/// Most rows that are sorted from any order, some 400 MB.
const MOST: usize = 1 << 20;

pub(super) struct CsvWindow {
    order: CsvRowOrder,
    waiting: Vec<CsvRequest>,
    left: Nanos,
}

impl CsvWindow {
    pub(super) fn new(order: CsvRowOrder) -> Self {
        CsvWindow {
            order,
            waiting: Vec::new(),
            left: Nanos::ZERO,
        }
    }

    /// Takes a request. Returns those that need not wait any more, in order.
    pub(super) fn push(
        &mut self,
        request: CsvRequest,
    ) -> Result<impl Iterator<Item = CsvRequest>, BadLine> {
        if request.1 < self.left {
            let expected = "a start not before the requests more than 65536 rows above";
            let distance = format!("{} ns before", self.left.0 - request.1.0);
            return Err(BadLine::new(
                "time goes back",
                "latency",
                expected,
                &distance,
            ));
        }
        if self.order == CsvRowOrder::Any && self.waiting.len() == MOST {
            let expected = "at most 1048576 rows with --sort (sort the file by its start first)";
            return Err(BadLine::new("too many rows", "line", expected, "").found("another row"));
        }
        self.waiting.push(request);
        let leaving = match self.order {
            CsvRowOrder::Starts => 1,
            CsvRowOrder::Ends if self.waiting.len() == 2 * WINDOW => WINDOW,
            CsvRowOrder::Ends | CsvRowOrder::Any => 0,
        };
        Ok(self.leave(leaving))
    }

    pub(super) fn leave_all(&mut self) -> impl Iterator<Item = CsvRequest> {
        self.leave(self.waiting.len())
    }

    fn leave(&mut self, count: usize) -> impl Iterator<Item = CsvRequest> {
        if count > 0 {
            // The sort is stable: requests of one instant keep the order of the source.
            self.waiting.sort_by_key(|(_, start, _)| *start);
            self.left = self.waiting[count - 1].1;
        }
        self.waiting.drain(..count)
    }
}

//! Assigns the requests of a lane to rows, so that requests that overlap stand in different rows.

use q2c_model::{DevId, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The lane in which a request is drawn; `None` when the trace does not tell the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ChromeLane {
    Cpu(Option<u32>),
    Hctx(DevId, Option<u32>),
}

impl ChromeLane {
    pub(super) fn name(&self) -> String {
        match self {
            ChromeLane::Cpu(Some(cpu)) => format!("CPU {cpu}"),
            ChromeLane::Cpu(None) => "CPU not known".to_owned(),
            ChromeLane::Hctx(device, Some(queue)) => format!("{device} queue {queue}"),
            ChromeLane::Hctx(device, None) => format!("{device} queue not known"),
        }
    }

    /// Sort key among the lanes; a lane without a number is last.
    pub(super) fn order(&self) -> u64 {
        let number = match self {
            ChromeLane::Cpu(number) | ChromeLane::Hctx(_, number) => number,
        };
        number.map_or(u64::from(u32::MAX), u64::from)
    }
}

pub(super) struct ChromeRow {
    pub(super) lane: usize,
    pub(super) row: usize,
    pub(super) new_lane: bool,
    pub(super) new_row: bool,
}

#[derive(Default)]
pub(super) struct ChromeRows {
    numbers: HashMap<ChromeLane, usize>,
    lanes: Vec<LaneRows>,
}

#[derive(Default)]
struct LaneRows {
    /// Rows that are taken, with the time at which each becomes free.
    taken: BinaryHeap<Reverse<(Nanos, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
    rows: usize,
}

impl ChromeRows {
    const MOST_LANES: usize = 65_536;

    /// Takes the first row of the lane that is free at `start`, until `end`. Returns `None` when
    /// there are too many lanes.
    pub(super) fn take(&mut self, lane: ChromeLane, start: Nanos, end: Nanos) -> Option<ChromeRow> {
        let next = self.lanes.len();
        if next == Self::MOST_LANES && !self.numbers.contains_key(&lane) {
            return None;
        }
        let number = *self.numbers.entry(lane).or_insert(next);
        let new_lane = number == next;
        if new_lane {
            self.lanes.push(LaneRows::default());
        }
        let lane = &mut self.lanes[number];
        while let Some(Reverse((until, row))) = lane.taken.peek().copied() {
            if until > start {
                break;
            }
            lane.taken.pop();
            lane.free.push(Reverse(row));
        }
        let free = lane.free.pop().map(|Reverse(row)| row);
        let new_row = free.is_none();
        lane.rows += usize::from(new_row);
        let row = free.unwrap_or(lane.rows);
        lane.taken.push(Reverse((end, row)));
        Some(ChromeRow {
            lane: number + 1,
            row,
            new_lane,
            new_row,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_from_the_top() {
        let mut rows = ChromeRows::default();
        let mut take = |cpu, start, end| {
            let row = rows
                .take(ChromeLane::Cpu(Some(cpu)), Nanos(start), Nanos(end))
                .unwrap();
            (row.lane, row.row, row.new_lane, row.new_row)
        };
        assert_eq!(take(4, 0, 10), (1, 1, true, true));
        assert_eq!(take(4, 5, 30), (1, 2, false, true));
        assert_eq!(take(0, 6, 7), (2, 1, true, true));
        // The first row is free again at the instant of its end.
        assert_eq!(take(4, 10, 40), (1, 1, false, false));
        assert_eq!(take(4, 11, 12), (1, 3, false, true));
        assert_eq!(take(4, 35, 36), (1, 2, false, false));
    }
}

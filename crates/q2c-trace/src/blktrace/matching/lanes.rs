//! Lanes: processes numbered from 0 in the order of their first I/O, with their I/Os in flight.

use super::super::IntMap;

#[derive(Default)]
pub(super) struct Lanes {
    numbers: IntMap<u32, u32>,
    in_flight: Vec<u32>,
    /// The process of the last I/O and its lane, which saves look-ups for successive I/Os of one
    /// process.
    last: Option<(u32, u32)>,
}

impl Lanes {
    /// Most lanes; all further processes share the last lane.
    const MOST: usize = 4 << 20;

    /// Counts a new I/O of a process. Returns its lane and the lane's I/Os in flight, itself
    /// included.
    pub(super) fn enter(&mut self, pid: u32) -> (u32, u32) {
        let lane = match self.last {
            Some((last, lane)) if last == pid => lane,
            _ => self.number(pid),
        };
        self.last = Some((pid, lane));
        let depth = &mut self.in_flight[lane as usize];
        *depth += 1;
        (lane, *depth)
    }

    fn number(&mut self, pid: u32) -> u32 {
        let new = self.in_flight.len();
        if new >= Self::MOST {
            return self.numbers.get(&pid).copied().unwrap_or(new as u32 - 1);
        }
        let lane = *self.numbers.entry(pid).or_insert(new as u32);
        if lane as usize == new {
            self.in_flight.push(0);
        }
        lane
    }

    pub(super) fn leave(&mut self, lane: u32) {
        let depth = &mut self.in_flight[lane as usize];
        *depth = depth.saturating_sub(1);
    }
}

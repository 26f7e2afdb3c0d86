//! Submitting threads: numbered from 0, and how many I/Os each has in flight.

use super::super::hash::IntMap;

#[derive(Default)]
pub(super) struct Lanes {
    numbers: IntMap<u32, u32>,
    in_flight: Vec<u32>,
    /// The last process and its number.
    last: Option<(u32, u32)>,
}

impl Lanes {
    /// Lanes that are told apart; processes beyond them share the last.
    const MOST: usize = 4 << 20;

    /// An I/O of this process: its lane, and how many it has in flight now.
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

    /// One of its I/Os is over.
    pub(super) fn leave(&mut self, lane: u32) {
        let depth = &mut self.in_flight[lane as usize];
        *depth = depth.saturating_sub(1);
    }
}

//! A second PAS in decimal fixed point, as in the kernel; it keeps every sleep and outcome.

use super::closed_loop::{Finish, RuleUnderTest};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

/// 1.0 in fixed point; durations are in us.
const ONE: i128 = 1_000_000_000_000;
const UNDER: char = 'U';
const OVER: char = 'O';

struct PasState {
    dur: i128,
    adj: i128,
    up: i128,
    dn: i128,
    outcomes: Vec<char>,
    applied: usize,
    spoken: Vec<bool>,
}

pub(crate) struct ReferencePas {
    adaptive: bool,
    pub failures: usize,
    states: HashMap<(usize, bool, u32), PasState>,
}

impl ReferencePas {
    pub(crate) fn new(adaptive: bool) -> Self {
        ReferencePas {
            adaptive,
            failures: 0,
            states: HashMap::new(),
        }
    }

    fn state(&mut self, lane: usize, io: Io) -> &mut PasState {
        let class = (io.bytes / 512).ilog2().min(7);
        let key = (lane, io.direction == Direction::Write, class);
        self.states.entry(key).or_insert_with(|| PasState {
            dur: ONE / 10,
            adj: ONE,
            up: ONE / 100,
            dn: ONE / 10,
            outcomes: vec![OVER, UNDER],
            applied: 1,
            spoken: Vec::new(),
        })
    }
}

impl PasState {
    /// Applies the last two outcomes. Returns true if the sleep had to be raised to the shortest.
    fn apply(&mut self, adaptive: bool) -> bool {
        let last = self.outcomes.len() - 1;
        let (p, l) = (self.outcomes[last - 1], self.outcomes[last]);
        match (p, l) {
            (UNDER, UNDER) => self.adj += self.up,
            (OVER, OVER) => self.adj -= self.dn,
            (UNDER, OVER) => self.adj = ONE - self.dn,
            _ => self.adj = ONE + self.up,
        }
        if self.adj <= 0 {
            self.adj = ONE;
        }
        let dur = self.dur * self.adj / ONE;
        self.dur = dur.clamp(ONE / 10, 10_000_000 * ONE);
        if adaptive && p == l {
            self.dn = (self.dn * 105 / 100).min(ONE / 10);
            self.up = self.dn / 10;
        } else if adaptive {
            self.up = (self.up * 90 / 100).max(ONE / 1000);
            self.dn = self.up * 10;
        }
        dur < ONE / 10
    }
}

impl RuleUnderTest for ReferencePas {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let adaptive = self.adaptive;
        let mut failed = false;
        let state = self.state(lane, io);
        if state.outcomes.len() > state.applied {
            failed = state.apply(adaptive);
            state.applied = state.outcomes.len();
            state.spoken.push(false);
        }
        let ns = (state.dur * 1000 + ONE / 2) / ONE;
        let token = state.spoken.len() as u64 - 1;
        self.failures += usize::from(failed);
        (ns as u64, token)
    }

    fn finish(&mut self, f: Finish) {
        let state = self.state(f.lane, f.io);
        if !std::mem::replace(&mut state.spoken[f.token as usize], true) {
            state.outcomes.push(if f.missed { OVER } else { UNDER });
        }
    }
}

//! A second PAS in decimal fixed point, as in the kernel; it keeps every sleep and outcome.

use super::closed_loop::{Finish, RuleUnderTest};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

/// 1.0 in fixed point; durations are in us.
const ONE: i128 = 1_000_000_000_000;
/// The outcomes by the paper's names: an early wake-up is `UNDER`, a late one `OVER`.
const UNDER: char = 'U';
const OVER: char = 'O';

struct PasState {
    sleep: i128,
    step: i128,
    up: i128,
    down: i128,
    outcomes: Vec<char>,
    outcomes_applied: usize,
    has_outcome: Vec<bool>,
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
            sleep: ONE / 10,
            step: ONE,
            up: ONE / 100,
            down: ONE / 10,
            outcomes: vec![OVER, UNDER],
            outcomes_applied: 1,
            has_outcome: Vec::new(),
        })
    }
}

impl PasState {
    /// Applies the last two outcomes. Returns true if the sleep had to be raised to the shortest.
    fn apply(&mut self, adaptive: bool) -> bool {
        let last = self.outcomes.len() - 1;
        let (before, newest) = (self.outcomes[last - 1], self.outcomes[last]);
        match (before, newest) {
            (UNDER, UNDER) => self.step += self.up,
            (OVER, OVER) => self.step -= self.down,
            (UNDER, OVER) => self.step = ONE - self.down,
            _ => self.step = ONE + self.up,
        }
        if self.step <= 0 {
            self.step = ONE;
        }
        let sleep = self.sleep * self.step / ONE;
        self.sleep = sleep.clamp(ONE / 10, 10_000_000 * ONE);
        if adaptive && before == newest {
            self.down = (self.down * 105 / 100).min(ONE / 10);
            self.up = self.down / 10;
        } else if adaptive {
            self.up = (self.up * 90 / 100).max(ONE / 1000);
            self.down = self.up * 10;
        }
        sleep < ONE / 10
    }
}

impl RuleUnderTest for ReferencePas {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let adaptive = self.adaptive;
        let mut failed = false;
        let state = self.state(lane, io);
        if state.outcomes.len() > state.outcomes_applied {
            failed = state.apply(adaptive);
            state.outcomes_applied = state.outcomes.len();
            state.has_outcome.push(false);
        }
        let ns = (state.sleep * 1000 + ONE / 2) / ONE;
        let token = state.has_outcome.len() as u64 - 1;
        self.failures += usize::from(failed);
        (ns as u64, token)
    }

    fn finish(&mut self, f: Finish) {
        let state = self.state(f.lane, f.io);
        if !std::mem::replace(&mut state.has_outcome[f.token as usize], true) {
            state.outcomes.push(if f.missed { OVER } else { UNDER });
        }
    }
}

//! A second DPAS around the second PAS. It keeps every submission of a mode until the mode ends.

use super::closed_loop::{Finish, INTERRUPT, RuleUnderTest};
use super::pas::ReferencePas;
use q2c_policy::Io;
use std::collections::{HashMap, HashSet};

/// The number of I/Os in each mode, by the paper's names of the modes.
#[derive(Clone, Copy)]
pub(crate) struct DpasLengths {
    pub pas: usize,
    pub cp: usize,
    pub ol: usize,
    pub int: usize,
}

pub(crate) struct ReferenceDpas {
    pub theta: f64,
    pub lengths: DpasLengths,
    pub cores: HashMap<usize, DpasCore>,
}

pub(crate) struct DpasCore {
    mode: &'static str,
    /// Number of I/Os asleep at each submission, itself included; `None` if it did not sleep.
    asleep_counts: Vec<Option<usize>>,
    asleep: HashSet<u64>,
    newest_token: u64,
    failures_before: usize,
    pas: ReferencePas,
    pas_tokens: HashMap<u64, u64>,
}

impl Default for DpasCore {
    fn default() -> Self {
        DpasCore {
            mode: "PAS",
            asleep_counts: Vec::new(),
            asleep: HashSet::new(),
            newest_token: 0,
            failures_before: 0,
            pas: ReferencePas::new(true),
            pas_tokens: HashMap::new(),
        }
    }
}

impl DpasCore {
    fn average(&self) -> usize {
        10 * self.asleep_counts.iter().flatten().sum::<usize>() / self.asleep_counts.len()
    }

    fn switch(&mut self, theta: f64, lengths: DpasLengths) {
        let length = match self.mode {
            "PAS" => lengths.pas,
            "CP" => lengths.cp,
            "OL" => lengths.ol,
            _ => lengths.int,
        };
        if self.asleep_counts.len() < length {
            return;
        }
        let failed = self.pas.failures > self.failures_before;
        self.mode = match (self.mode, self.average()) {
            ("PAS", _) if failed => "OL",
            ("PAS", 10) => "CP",
            ("CP", _) => "PAS",
            ("OL", depth) if depth <= 10 => "PAS",
            ("OL", depth) if depth as f64 > 10.0 * theta => "INT",
            ("INT", _) => "OL",
            (same, _) => same,
        };
        self.failures_before = self.pas.failures;
        self.asleep_counts.clear();
    }
}

impl RuleUnderTest for ReferenceDpas {
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64) {
        let core = self.cores.entry(lane).or_default();
        core.switch(self.theta, self.lengths);
        core.newest_token += 1;
        let token = core.newest_token;
        let answer = match core.mode {
            "CP" => 0,
            "INT" => INTERRUPT,
            _ => {
                let (sleep, pas_token) = core.pas.submit(0, io, now);
                core.pas_tokens.insert(token, pas_token);
                core.asleep.insert(token);
                core.asleep_counts.push(Some(core.asleep.len()));
                return (sleep, token);
            }
        };
        core.asleep_counts.push(None);
        (answer, token)
    }

    fn finish(&mut self, f: Finish) {
        let core = self.cores.get_mut(&f.lane).expect("it submitted");
        let token = f.token;
        if core.asleep.remove(&token) {
            core.pas.finish(Finish {
                lane: 0,
                token: core.pas_tokens[&token],
                ..f
            });
        }
    }
}

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
    entries: Vec<Option<usize>>,
    asleep: HashSet<u64>,
    issued: u64,
    failures: usize,
    pas: ReferencePas,
    inner: HashMap<u64, u64>,
}

impl Default for DpasCore {
    fn default() -> Self {
        DpasCore {
            mode: "PAS",
            entries: Vec::new(),
            asleep: HashSet::new(),
            issued: 0,
            failures: 0,
            pas: ReferencePas::new(true),
            inner: HashMap::new(),
        }
    }
}

impl DpasCore {
    fn average(&self) -> usize {
        10 * self.entries.iter().flatten().sum::<usize>() / self.entries.len()
    }

    fn switch(&mut self, theta: f64, lengths: DpasLengths) {
        let length = match self.mode {
            "PAS" => lengths.pas,
            "CP" => lengths.cp,
            "OL" => lengths.ol,
            _ => lengths.int,
        };
        if self.entries.len() < length {
            return;
        }
        let failed = self.pas.failures > self.failures;
        self.mode = match (self.mode, self.average()) {
            ("PAS", _) if failed => "OL",
            ("PAS", 10) => "CP",
            ("CP", _) => "PAS",
            ("OL", depth) if depth <= 10 => "PAS",
            ("OL", depth) if depth as f64 > 10.0 * theta => "INT",
            ("INT", _) => "OL",
            (same, _) => same,
        };
        self.failures = self.pas.failures;
        self.entries.clear();
    }
}

impl RuleUnderTest for ReferenceDpas {
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64) {
        let core = self.cores.entry(lane).or_default();
        core.switch(self.theta, self.lengths);
        core.issued += 1;
        let name = core.issued;
        let answer = match core.mode {
            "CP" => 0,
            "INT" => INTERRUPT,
            _ => {
                let (sleep, inner) = core.pas.submit(0, io, now);
                core.inner.insert(name, inner);
                core.asleep.insert(name);
                core.entries.push(Some(core.asleep.len()));
                return (sleep, name);
            }
        };
        core.entries.push(None);
        (answer, name)
    }

    fn finish(&mut self, f: Finish) {
        let core = self.cores.get_mut(&f.lane).expect("it submitted");
        let name = f.token;
        if core.asleep.remove(&name) {
            core.pas.finish(Finish {
                lane: 0,
                token: core.inner[&name],
                ..f
            });
        }
    }
}

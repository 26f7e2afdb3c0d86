//! Second windowed rules: every sample of a window (here epoch) is kept until it is over.

use super::closed_loop::{Finish, INTERRUPT, RuleUnderTest};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

type EpochClass = (bool, u32);

fn class(io: Io) -> Option<EpochClass> {
    let mut sectors = io.bytes / 512;
    if sectors == 0 {
        return None;
    }
    let mut class = 0;
    while sectors > 1 && class < 7 {
        sectors /= 2;
        class += 1;
    }
    Some((io.direction == Direction::Write, class))
}

pub(crate) struct Epoch {
    pub size_class: u32,
    /// Observed times in ns, and whether they were misses, in order.
    pub samples: Vec<(u64, bool)>,
    pub mean_before: Option<u64>,
}

impl Epoch {
    pub(crate) fn mean(&self) -> u64 {
        self.samples.iter().map(|s| s.0).sum::<u64>() / self.samples.len() as u64
    }

    pub(crate) fn sorted(&self) -> Vec<u64> {
        let mut times: Vec<u64> = self.samples.iter().map(|s| s.0).collect();
        times.sort_unstable();
        times
    }
}

/// `percent` of a time, rounded with halves up.
pub(crate) fn percent_of(percent: u64, time: u64) -> u64 {
    (time * percent + 50) / 100
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum EpochScope {
    Device,
    Lane,
}

pub(crate) type EpochRule = fn(&Epoch, percent: u64) -> u64;

pub(crate) struct Epochs {
    answer: EpochRule,
    percent: u64,
    period: u64,
    of: EpochScope,
    large: Option<u32>,
    parts: HashMap<usize, EpochState>,
}

#[derive(Default)]
struct EpochState {
    opened: Option<u64>,
    samples: Vec<(EpochClass, u64, bool)>,
    answers: HashMap<EpochClass, u64>,
    means: HashMap<EpochClass, u64>,
}

impl Epochs {
    pub(crate) fn new(answer: EpochRule, percent: u64, period: u64, of: EpochScope) -> Self {
        Epochs {
            answer,
            percent,
            period,
            of,
            large: None,
            parts: HashMap::new(),
        }
    }

    pub(crate) fn with_interrupts_from(self, bytes: u32) -> Self {
        let large = Some(bytes);
        Epochs { large, ..self }
    }

    fn part(&mut self, lane: usize, now: u64) -> &mut EpochState {
        let lane = if self.of == EpochScope::Device {
            0
        } else {
            lane
        };
        let part = self.parts.entry(lane).or_default();
        if part
            .opened
            .is_some_and(|opened| now >= opened + self.period)
        {
            part.close(|epoch| (self.answer)(epoch, self.percent));
        }
        part
    }
}

impl EpochState {
    fn close(&mut self, answer: impl Fn(&Epoch) -> u64) {
        self.opened = None;
        let mut by_class: HashMap<EpochClass, Vec<(u64, bool)>> = HashMap::new();
        for (class, observed, missed) in self.samples.drain(..) {
            by_class.entry(class).or_default().push((observed, missed));
        }
        for (class, samples) in by_class {
            let epoch = Epoch {
                size_class: class.1,
                samples,
                mean_before: self.means.get(&class).copied(),
            };
            self.means.insert(class, epoch.mean());
            let answer = answer(&epoch);
            let sleeps = answer != INTERRUPT;
            let bounded = if sleeps {
                answer.min(10_000_000_000)
            } else {
                answer
            };
            self.answers.insert(class, bounded);
        }
    }
}

impl RuleUnderTest for Epochs {
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64) {
        if self.large.is_some_and(|large| io.bytes >= large) {
            return (INTERRUPT, 0);
        }
        let part = self.part(lane, now);
        let known = class(io).and_then(|class| part.answers.get(&class));
        (known.copied().unwrap_or(0), 0)
    }

    fn finish(&mut self, f: Finish) {
        if self.large.is_some_and(|large| f.io.bytes >= large) {
            return;
        }
        let part = self.part(f.lane, f.now);
        part.opened.get_or_insert(f.now);
        let class = class(f.io);
        part.samples
            .extend(class.map(|class| (class, f.observed, f.missed)));
    }
}

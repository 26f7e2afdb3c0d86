//! Second windowed rules, written from the published descriptions as functions of a window (here
//! called epoch). Every sample is kept until its epoch is over.

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
    scope: EpochScope,
    interrupts_from: Option<u32>,
    states: HashMap<usize, EpochState>,
}

#[derive(Default)]
struct EpochState {
    opened: Option<u64>,
    samples: Vec<(EpochClass, u64, bool)>,
    answers: HashMap<EpochClass, u64>,
    means: HashMap<EpochClass, u64>,
}

impl Epochs {
    pub(crate) fn new(answer: EpochRule, percent: u64, period: u64, scope: EpochScope) -> Self {
        Epochs {
            answer,
            percent,
            period,
            scope,
            interrupts_from: None,
            states: HashMap::new(),
        }
    }

    pub(crate) fn with_interrupts_from(self, bytes: u32) -> Self {
        Epochs {
            interrupts_from: Some(bytes),
            ..self
        }
    }

    fn state(&mut self, lane: usize, now: u64) -> &mut EpochState {
        let lane = lane * usize::from(self.scope == EpochScope::Lane);
        let state = self.states.entry(lane).or_default();
        let is_over = |opened| now >= opened + self.period;
        if state.opened.is_some_and(is_over) {
            state.close(|epoch| (self.answer)(epoch, self.percent));
        }
        state
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
            let max = if answer == INTERRUPT {
                INTERRUPT
            } else {
                10_000_000_000
            };
            self.answers.insert(class, answer.min(max));
        }
    }
}

impl RuleUnderTest for Epochs {
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64) {
        if self.interrupts_from.is_some_and(|from| io.bytes >= from) {
            return (INTERRUPT, 0);
        }
        let state = self.state(lane, now);
        let known = class(io).and_then(|class| state.answers.get(&class));
        (known.copied().unwrap_or(0), 0)
    }

    fn finish(&mut self, f: Finish) {
        if self.interrupts_from.is_some_and(|from| f.io.bytes >= from) {
            return;
        }
        let state = self.state(f.lane, f.now);
        state.opened.get_or_insert(f.now);
        let class = class(f.io);
        state
            .samples
            .extend(class.map(|class| (class, f.observed, f.missed)));
    }
}

pub(crate) fn mean(epoch: &Epoch, percent: u64) -> u64 {
    percent_of(percent, epoch.mean())
}

pub(crate) fn min(epoch: &Epoch, percent: u64) -> u64 {
    percent_of(percent, epoch.sorted()[0])
}

/// A share of the 5 % quantile, the time that 5 % of all do not exceed. It is known only by its
/// bin, a 64th of a doubling; the bin's middle stands for it, clamped to the times seen.
pub(crate) fn quantile_5(epoch: &Epoch, percent: u64) -> u64 {
    let sorted = epoch.sorted();
    let (n, min, max) = (sorted.len(), sorted[0], sorted[sorted.len() - 1]);
    let exact = sorted[(n.div_ceil(20)).max(1) - 1];
    let mut width = 1;
    while exact / width >= 128 {
        width *= 2;
    }
    let middle = exact / width * width + (width - 1) / 2;
    percent_of(percent, middle.clamp(min, max))
}

/// The minimum minus 2 x 1487 + 1076 = 4050 ns; interrupts from ten times that cost on, polling up
/// to the cost.
pub(crate) fn ehp(epoch: &Epoch, _: u64) -> u64 {
    match epoch.sorted()[0] {
        long if long >= 40_500 => INTERRUPT,
        short if short > 4_050 => short - 4_050,
        _ => 0,
    }
}

/// Mean - 4 LMD; depending on the miss rate a quarter less, or half the mean.
pub(crate) fn lmd(epoch: &Epoch, _: u64) -> u64 {
    let n = epoch.samples.len() as u64;
    let mean = epoch.mean();
    let half = mean.div_ceil(2);
    let Some(mean_before) = epoch.mean_before else {
        return half;
    };
    let below: Vec<_> = epoch.samples.iter().filter(|s| s.0 < mean_before).collect();
    let lmd = below.iter().map(|s| mean_before - s.0).sum::<u64>() / n;
    let misses = below.iter().filter(|(_, missed)| *missed).count();
    if lmd == 0 || mean <= 4 * lmd {
        return half;
    }
    let sleep = mean - 4 * lmd;
    // The quotient is infinite without a miss.
    let log2_ios_per_miss = (n as f64 / misses as f64).log2().floor();
    let sleep = match log2_ios_per_miss {
        ..=4.0 => half,
        ..=7.0 => sleep - sleep / 4,
        _ => sleep,
    };
    sleep.max(half)
}

/// A share of the mean by size class: 30, 35, 40 % and so on.
pub(crate) fn mean_by_size(epoch: &Epoch, _: u64) -> u64 {
    percent_of(30 + 5 * u64::from(epoch.size_class), epoch.mean())
}

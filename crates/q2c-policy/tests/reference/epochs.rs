//! The windowed rules again: keep every sample of the epoch, look at them all when it is over.

use super::closed_loop::{Finish, Subject};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

/// Read or write, and the size class.
type Class = (bool, u32);

/// By halving, not by bits.
fn class(io: Io) -> Option<Class> {
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

#[derive(Clone, Copy)]
pub enum Statistic {
    Mean,
    Min,
}

pub struct Epochs {
    statistic: Statistic,
    percent: u64,
    period: u64,
    opened: Option<u64>,
    samples: Vec<(Class, u64)>,
    sleeps: HashMap<Class, u64>,
}

impl Epochs {
    pub fn new(statistic: Statistic, percent: u64, period: u64) -> Self {
        Epochs {
            statistic,
            percent,
            period,
            opened: None,
            samples: Vec::new(),
            sleeps: HashMap::new(),
        }
    }

    fn pass_time(&mut self, now: u64) {
        if self.opened.is_none_or(|opened| now < opened + self.period) {
            return;
        }
        self.opened = None;
        let mut by_class: HashMap<Class, Vec<u64>> = HashMap::new();
        for (class, observed) in self.samples.drain(..) {
            by_class.entry(class).or_default().push(observed);
        }
        for (class, all) in by_class {
            let value = match self.statistic {
                Statistic::Mean => all.iter().sum::<u64>() / all.len() as u64,
                Statistic::Min => *all.iter().min().expect("a class with samples"),
            };
            let sleep = (value * self.percent + 50) / 100;
            self.sleeps.insert(class, sleep.min(10_000_000_000));
        }
    }
}

impl Subject for Epochs {
    fn submit(&mut self, _: usize, io: Io, now: u64) -> (u64, u64) {
        self.pass_time(now);
        let known = class(io).and_then(|class| self.sleeps.get(&class));
        (known.copied().unwrap_or(0), 0)
    }

    fn finish(&mut self, f: Finish) {
        self.pass_time(f.now);
        self.opened.get_or_insert(f.now);
        self.samples
            .extend(class(f.io).map(|class| (class, f.observed)));
    }
}

//! Where time goes: shares of the stages in all, over load and over time.

use crate::stage::{PARTS, Stage, Stages};
use q2c_result::analyze::{Bottleneck, LoadClass, TimeWindow};
use std::collections::BTreeMap;

/// A stage before the driver that takes at least this share is named; else the device is.
const NAMED: f64 = 0.2;

/// Sums of parts over some I/Os.
#[derive(Clone, Copy, Default)]
struct Sums {
    requests: u64,
    q2c: u64,
    parts: [u64; PARTS.len()],
}

impl Sums {
    fn add(&mut self, q2c: u64, parts: &[u64; PARTS.len()]) {
        self.requests += 1;
        self.q2c = self.q2c.saturating_add(q2c);
        for (sum, part) in self.parts.iter_mut().zip(parts) {
            *sum = sum.saturating_add(*part);
        }
    }

    fn merge(&mut self, other: &Sums) {
        self.requests += other.requests;
        self.q2c = self.q2c.saturating_add(other.q2c);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum = sum.saturating_add(part);
        }
    }

    fn share(&self, stage: Stage) -> f64 {
        match self.q2c {
            0 => 0.0,
            q2c => self.parts[stage as usize] as f64 / q2c as f64,
        }
    }

    fn shares(&self) -> BTreeMap<String, f64> {
        let some = PARTS
            .iter()
            .filter(|stage| self.parts[**stage as usize] > 0);
        some.map(|stage| (stage.name().to_owned(), self.share(*stage)))
            .collect()
    }

    fn mean(&self) -> f64 {
        match self.requests {
            0 => 0.0,
            n => self.q2c as f64 / n as f64,
        }
    }

    /// The largest stage before the driver if it takes enough, else D2C; the rest when nothing is known.
    fn named(&self) -> Stage {
        let before = [
            Stage::Q2G,
            Stage::G2I,
            Stage::Q2M,
            Stage::I2D,
            Stage::G2D,
            Stage::M2D,
        ];
        let largest = before
            .into_iter()
            .max_by_key(|stage| self.parts[*stage as usize]);
        match largest {
            Some(stage) if self.share(stage) >= NAMED => stage,
            _ if self.share(Stage::Rest) > self.share(Stage::D2C) => Stage::Rest,
            _ => Stage::D2C,
        }
    }
}

const fn why(stage: Stage) -> &'static str {
    match stage {
        Stage::Q2G => {
            "I/Os wait for a free request: all requests of the queue (nr_requests, hardware tags) are in use"
        }
        Stage::G2I => "requests wait on the submitter's plug list before they reach the scheduler",
        Stage::I2D => {
            "requests wait in the scheduler: the driver takes no more, or the scheduler holds them back"
        }
        Stage::G2D => {
            "requests wait between allocation and driver without a scheduler: plugging, or a busy hardware queue"
        }
        Stage::Q2M | Stage::M2D => "merged I/Os wait for the request that carries them",
        Stage::D2C => {
            "the device and its driver take the time; the block layer before them adds little"
        }
        _ => "most I/Os lack the events that would tell: bios of stacked devices, or events lost",
    }
}

/// Sums over load and time.
#[derive(Default)]
pub(crate) struct Shares {
    all: Sums,
    /// By the binary digits of the number in flight.
    loads: Vec<Sums>,
    windows: Vec<Sums>,
    start: Option<u64>,
    /// log2 of the windows' length, ns.
    length: u32,
}

impl Shares {
    const WINDOWS: usize = 512;
    /// About a millisecond, at first.
    const SHORTEST: u32 = 20;

    pub(crate) fn add(&mut self, queue: u64, depth: u64, stages: &Stages) {
        let (q2c, parts) = (stages.q2c(), stages.parts());
        self.all.add(q2c, &parts);
        let class = depth.max(1).ilog2() as usize;
        if self.loads.len() <= class {
            self.loads.resize(class + 1, Sums::default());
        }
        self.loads[class].add(q2c, &parts);
        let window = self.window(queue);
        self.windows[window].add(q2c, &parts);
    }

    /// The window of a time; windows are joined by twos when they become too many.
    fn window(&mut self, queue: u64) -> usize {
        self.length = self.length.max(Self::SHORTEST);
        let since = queue.saturating_sub(*self.start.get_or_insert(queue));
        while since >> self.length >= Self::WINDOWS as u64 {
            self.length += 1;
            let joined = self.windows.chunks(2).map(|two| {
                let mut sum = Sums::default();
                two.iter().for_each(|one| sum.merge(one));
                sum
            });
            self.windows = joined.collect();
        }
        let at = (since >> self.length) as usize;
        if self.windows.len() <= at {
            self.windows.resize(at + 1, Sums::default());
        }
        at
    }

    pub(crate) fn told(&self) -> Option<Bottleneck> {
        if self.all.requests == 0 {
            return None;
        }
        let stage = self.all.named();
        let rule = "the largest stage before the driver if it takes at least 20 % of the sum of Q2C, else D2C";
        Some(Bottleneck {
            stage: stage.name().to_owned(),
            share: self.all.share(stage),
            why: why(stage).to_owned(),
            rule: rule.to_owned(),
            shares: self.all.shares(),
            over_load: self.over_load(),
            over_time: self.over_time(),
        })
    }

    fn over_load(&self) -> Vec<LoadClass> {
        let class = |(class, sums): (usize, &Sums)| LoadClass {
            from: 1 << class,
            to: (2 << class) - 1,
            requests: sums.requests,
            mean_q2c_ns: sums.mean(),
            stage: sums.named().name().to_owned(),
            shares: sums.shares(),
        };
        let classes = self.loads.iter().enumerate();
        classes
            .filter(|(_, sums)| sums.requests > 0)
            .map(class)
            .collect()
    }

    fn over_time(&self) -> Vec<TimeWindow> {
        let window = |(at, sums): (usize, &Sums)| TimeWindow {
            start_ns: (at as u64) << self.length,
            length_ns: 1 << self.length,
            requests: sums.requests,
            mean_q2c_ns: sums.mean(),
            stage: sums.named().name().to_owned(),
            shares: sums.shares(),
        };
        let windows = self.windows.iter().enumerate();
        windows
            .filter(|(_, sums)| sums.requests > 0)
            .map(window)
            .collect()
    }
}

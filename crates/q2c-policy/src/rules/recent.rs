//! A rule that the user writes: a [`Formula`](crate::Formula) over the times of the last I/Os, 8 by
//! default, however long these took. It is calculated again after every I/O.
//!
//! The rule `rule` uses the same formulas over a window of time, once at its end.

use crate::bucket::{BUCKETS, bucket_of};
use crate::form::Form;
use crate::formula::CountedFormula;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::state::{MAX_TIME_NS, StateReader};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, Statistic, Token};
use q2c_model::Nanos;
use std::collections::VecDeque;

pub(crate) const IOS: Param = Param::new(
    "ios",
    "number of I/Os in the window",
    ParamKind::Count,
    Some(8.0),
    1.0..=1_000.0,
);

pub(crate) const RULE: SleepRule = SleepRule {
    name: "recent",
    summary: "sleep what a formula makes of the last I/Os' statistics",
    scope: Scope::PerLane,
    follows_device: true,
    interrupts: false,
    params: &[
        IOS,
        Param::new(
            "sleep",
            "how long, such as 0.5 * min",
            ParamKind::Formula,
            None,
            0.0..=0.0,
        ),
    ],
    example: "recent:ios=8,sleep=0.5 * min",
    form,
};

fn form(spec: &PolicySpec) -> Form {
    let ios = spec.integer(IOS.name) as usize;
    let counted = spec.counted_formula().clone();
    Form::opaque(move || Recent {
        counted: counted.clone(),
        buckets: std::array::from_fn(|_| LastIos {
            ios,
            ios_seen: VecDeque::with_capacity(2 * ios),
            sorted: Vec::with_capacity(ios),
            sleep: Nanos::ZERO,
        }),
    })
}

struct Recent {
    counted: CountedFormula,
    buckets: [LastIos; BUCKETS],
}

struct LastIos {
    ios: usize,
    /// Times, ns, and misses, newest last: the window, and before it as many older I/Os for `lmd`.
    ios_seen: VecDeque<(u64, bool)>,
    sorted: Vec<u64>,
    sleep: Nanos,
}

impl LastIos {
    fn add(&mut self, ns: u64, missed: bool) {
        if let Some(leaves) = self.ios_seen.len().checked_sub(self.ios) {
            let (old, _) = self.ios_seen[leaves];
            let index = self.sorted.partition_point(|time| *time < old);
            self.sorted.remove(index);
        }
        if self.ios_seen.len() == 2 * self.ios {
            self.ios_seen.pop_front();
        }
        self.ios_seen.push_back((ns, missed));
        let index = self.sorted.partition_point(|time| *time < ns);
        self.sorted.insert(index, ns);
    }

    fn value_of(&self, statistic: Statistic) -> f64 {
        let window = self.ios_seen.range(self.ios_seen.len() - self.ios..);
        let time = match statistic {
            Statistic::Count => self.ios as u64,
            Statistic::Misses => window.filter(|(_, missed)| *missed).count() as u64,
            Statistic::Mean => self.sorted.iter().sum::<u64>() / self.ios as u64,
            Statistic::Min => self.sorted[0],
            Statistic::Max => self.sorted[self.ios - 1],
            Statistic::Last => self.ios_seen[self.ios_seen.len() - 1].0,
            Statistic::Percentile(percent) => {
                let rank = (usize::from(percent) * self.ios).div_ceil(100);
                self.sorted[rank.max(1) - 1]
            }
            Statistic::Lmd => self.lmd(),
        };
        time as f64
    }

    /// How far times lie on average below the mean of the `ios` before them, ns; 0 with too few.
    fn lmd(&self) -> u64 {
        if self.ios_seen.len() < 2 * self.ios {
            return 0;
        }
        let ios = self.ios as u64;
        let before = self.ios_seen.range(..self.ios).map(|(ns, _)| ns);
        let mean = before.sum::<u64>() / ios;
        let below = self.sorted.iter().map(|ns| mean.saturating_sub(*ns));
        below.sum::<u64>() / ios
    }

    fn state(&self) -> impl Iterator<Item = u64> {
        let head = [self.sleep.0, self.ios_seen.len() as u64];
        let seen = self.ios_seen.iter();
        let seen = seen.map(|(ns, missed)| (ns << 1) | u64::from(*missed));
        head.into_iter().chain(seen)
    }

    fn restore(&mut self, numbers: &mut StateReader<'_>) -> Option<()> {
        let sleep = Nanos(numbers.next_up_to(MAX_SLEEP.0)?);
        for _ in 0..numbers.next_up_to(2 * self.ios as u64)? {
            let number = numbers.next_up_to(2 * MAX_TIME_NS + 1)?;
            self.add(number >> 1, number & 1 == 1);
        }
        self.sleep = sleep;
        Some(())
    }
}

impl Lane for Recent {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let sleep = bucket_of(io).map_or(Nanos::ZERO, |bucket| self.buckets[bucket].sleep);
        (sleep.into(), Token::default())
    }

    fn complete(&mut self, io: Io, _: Token, outcome: Outcome, _: Nanos) {
        let Some(bucket) = bucket_of(io) else {
            return;
        };
        let last = &mut self.buckets[bucket];
        last.add(outcome.observed.0.min(MAX_TIME_NS), outcome.missed);
        if last.sorted.len() == last.ios {
            let sleep = self.counted.sleep(|statistic| last.value_of(statistic));
            last.sleep = sleep.min(MAX_SLEEP);
        }
    }

    fn state(&self) -> Option<Vec<u64>> {
        Some(self.buckets.iter().flat_map(LastIos::state).collect())
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        for last in &mut self.buckets {
            last.restore(&mut numbers)?;
        }
        numbers.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Io = Io::READ_4K;

    fn sleeps(rule: &str, times: &[u64]) -> Vec<u64> {
        let spec: PolicySpec = rule.parse().expect(rule);
        let mut lane = spec.build(1).remove(0);
        let asked = |lane: &mut dyn Lane| match lane.decide(READ, Nanos::ZERO).0 {
            Decision::Sleep(Nanos(ns)) => ns / 1_000,
            _ => 0,
        };
        let mut sleeps = Vec::new();
        for us in times {
            sleeps.push(asked(&mut *lane));
            let outcome = Outcome::new(us * 1_000, *us > 50);
            lane.complete(READ, Token::default(), outcome, Nanos::ZERO);
        }
        sleeps.push(asked(&mut *lane));
        sleeps
    }

    /// Half of the smallest of the last three times; with the fourth I/O, 10 leaves the window.
    #[test]
    fn half_of_the_smallest_of_the_last_three() {
        let got = sleeps("recent:ios=3,0.5 * min", &[10, 20, 30, 40, 8, 60]);
        assert_eq!(got, [0, 0, 0, 5, 10, 4, 4]);
    }

    #[test]
    fn every_statistic_is_of_the_last_ios() {
        let times = [9, 40, 60, 20, 30, 70];
        for (formula, after) in [
            ("count * 1us", 3),
            ("misses * 1us", 1),
            ("mean", 40),
            ("min", 20),
            ("max", 70),
            ("last", 70),
            ("p33", 20),
            ("p34", 30),
            ("p67", 70),
            ("lmd", 7),
        ] {
            let got = sleeps(&format!("recent:ios=3,{formula}"), &times);
            assert_eq!(got.last(), Some(&after), "{formula}: {got:?}");
        }
    }
}

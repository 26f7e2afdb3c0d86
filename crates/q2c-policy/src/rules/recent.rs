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
    let window_len = spec.integer(IOS.name) as usize;
    let counted = spec.counted_formula().clone();
    Form::opaque(move || Recent {
        counted: counted.clone(),
        buckets: std::array::from_fn(|_| LastIos {
            window_len,
            history: VecDeque::with_capacity(2 * window_len),
            sorted_window: Vec::with_capacity(window_len),
            sleep: Nanos::ZERO,
        }),
    })
}

struct Recent {
    counted: CountedFormula,
    buckets: [LastIos; BUCKETS],
}

struct LastIos {
    window_len: usize,
    /// Times, ns, and misses, newest last: the window, and as many I/Os before it for `lmd`.
    history: VecDeque<(u64, bool)>,
    sorted_window: Vec<u64>,
    sleep: Nanos,
}

impl LastIos {
    fn add(&mut self, ns: u64, missed: bool) {
        if let Some(oldest) = self.history.len().checked_sub(self.window_len) {
            let (old, _) = self.history[oldest];
            let index = self.sorted_window.partition_point(|time| *time < old);
            self.sorted_window.remove(index);
        }
        if self.history.len() == 2 * self.window_len {
            self.history.pop_front();
        }
        self.history.push_back((ns, missed));
        let index = self.sorted_window.partition_point(|time| *time < ns);
        self.sorted_window.insert(index, ns);
    }

    fn value_of(&self, statistic: Statistic) -> f64 {
        let window = self.history.range(self.history.len() - self.window_len..);
        let time = match statistic {
            Statistic::Count => self.window_len as u64,
            Statistic::Misses => window.filter(|(_, missed)| *missed).count() as u64,
            Statistic::Mean => self.sorted_window.iter().sum::<u64>() / self.window_len as u64,
            Statistic::Min => self.sorted_window[0],
            Statistic::Max => self.sorted_window[self.window_len - 1],
            Statistic::Last => self.history[self.history.len() - 1].0,
            Statistic::Percentile(percent) => {
                let rank = (usize::from(percent) * self.window_len).div_ceil(100);
                self.sorted_window[rank.max(1) - 1]
            }
            Statistic::Lmd => self.lmd(),
        };
        time as f64
    }

    /// How far times lie on average below the mean of the I/Os before the window, ns; 0 with too
    /// few.
    fn lmd(&self) -> u64 {
        if self.history.len() < 2 * self.window_len {
            return 0;
        }
        let window_len = self.window_len as u64;
        let before = self.history.range(..self.window_len).map(|(ns, _)| ns);
        let mean = before.sum::<u64>() / window_len;
        let below = self.sorted_window.iter().map(|ns| mean.saturating_sub(*ns));
        below.sum::<u64>() / window_len
    }

    fn state(&self) -> impl Iterator<Item = u64> {
        let head = [self.sleep.0, self.history.len() as u64];
        let ios = self.history.iter();
        let ios = ios.map(|(ns, missed)| (ns << 1) | u64::from(*missed));
        head.into_iter().chain(ios)
    }

    fn restore(&mut self, numbers: &mut StateReader<'_>) -> Option<()> {
        let sleep = Nanos(numbers.next_up_to(MAX_SLEEP.0)?);
        for _ in 0..numbers.next_up_to(2 * self.window_len as u64)? {
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
        if last.sorted_window.len() == last.window_len {
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
        for (formula, expected) in [
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
            assert_eq!(got.last(), Some(&expected), "{formula}: {got:?}");
        }
    }
}

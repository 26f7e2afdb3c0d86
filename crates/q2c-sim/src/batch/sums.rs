//! Sums over a configuration's counted I/Os, and the outcome that follows from them.

use super::costs::CostTables;
use crate::outcome::{OutcomeSums, SimOutcome};
use q2c_model::{Latencies, each_field};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// `ios`, `misses`, `slept` and `interrupts` are numbers of I/Os, the others sums of times in ns.
/// `waited` are device times, `thought` CPU times between I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums<T = i64> {
    pub ios: T,
    pub misses: T,
    pub asked: T,
    pub slept: T,
    pub interrupts: T,
    pub polled: T,
    pub cpu: T,
    pub late: T,
    pub observed: T,
    pub waited: T,
    pub submitted: T,
    pub thought: T,
}

each_field! {
    Sums, ios, misses, asked, slept, interrupts, polled, cpu, late, observed, waited, submitted,
    thought
}

impl Sums {
    /// True if every sum lies from -`limit` to `limit`, and the number of I/Os is not negative.
    pub(crate) fn is_below(self, limit: i64) -> bool {
        let mut below = self.ios >= 0;
        self.map(|sum| below &= (-limit..=limit).contains(&sum));
        below
    }

    pub(crate) fn since(self, earlier: Sums) -> Sums {
        self.zip(earlier).map(|(sum, earlier)| sum - earlier)
    }

    /// The outcome over `wall` ns of simulated time; the percentiles are in ns.
    pub(crate) fn outcome(
        &self,
        wall: f64,
        lanes: usize,
        costs: &CostTables,
        [p50_ns, p99_ns, p999_ns]: [f64; 3],
    ) -> SimOutcome {
        let polling = self.ios - self.slept - self.interrupts;
        let sums = OutcomeSums {
            ios: self.ios as f64,
            misses: self.misses as f64,
            asked: self.asked as f64,
            cpu: (self.cpu + self.submitted + self.thought) as f64,
            other_cpu: self.slept as f64 * costs.other_sleep
                + self.interrupts as f64 * costs.other_interrupt
                + polling as f64 * costs.other_poll,
            device: self.waited as f64,
            late: self.late as f64,
            polled: self.polled as f64,
        };
        sums.outcome(wall, lanes, |ios| Latencies {
            mean_ns: (self.submitted + self.observed) as f64 / ios,
            p50_ns,
            p99_ns,
            p999_ns,
        })
    }
}

impl AddAssign for Sums {
    #[inline]
    fn add_assign(&mut self, other: Sums) {
        *self = self.zip(other).map(|(sum, other)| sum + other);
    }
}

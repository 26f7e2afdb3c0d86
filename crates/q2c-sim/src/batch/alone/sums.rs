//! Sums over a configuration's counted I/Os, and the outcome that follows from them.

use super::priced::{Charges, PricedIoEnd};
use crate::outcome::SimOutcome;
use q2c_model::{Latencies, Rates, SimulatedFigures};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub ios: i64,
    pub misses: i64,
    pub asked: i64,
    pub slept: i64,
    pub interrupts: i64,
    pub polled: i64,
    pub cpu: i64,
    pub late: i64,
    pub observed: i64,
    pub waited: i64,
    pub submitted: i64,
    pub thought: i64,
}

/// The recorded times of a counted I/O, ns; the submission as the sleep made it.
#[derive(Clone, Copy)]
pub(super) struct IoTimes {
    pub submit: i32,
    pub wait: i32,
    pub thought: i64,
}

impl Sums {
    /// Adds an I/O that slept `asked`, 0 for polling.
    #[inline]
    pub(super) fn add(&mut self, end: &PricedIoEnd, asked: i32, times: IoTimes) {
        self.ios += 1;
        self.misses += i64::from(end.missed);
        self.asked += i64::from(asked);
        self.slept += i64::from(asked > 0);
        self.interrupts += i64::from(end.interrupted);
        self.polled += i64::from(end.polled);
        self.cpu += i64::from(end.cpu);
        self.late += i64::from((end.observed - times.wait).max(0));
        self.observed += i64::from(end.observed);
        self.waited += i64::from(times.wait);
        self.submitted += i64::from(times.submit);
        self.thought += times.thought;
    }

    /// Whether every sum lies between -`most` and `most`.
    pub(crate) fn is_below(&self, most: i64) -> bool {
        let sums = [
            self.ios,
            self.misses,
            self.asked,
            self.slept,
            self.interrupts,
            self.polled,
            self.cpu,
            self.late,
            self.observed,
            self.waited,
            self.submitted,
            self.thought,
        ];
        self.ios >= 0 && sums.iter().all(|sum| (-most..=most).contains(sum))
    }

    /// Over `wall` ns of simulated time; `ranks` are p50, p99 and p99.9, ns.
    pub(crate) fn outcome(
        &self,
        wall: f64,
        lanes: usize,
        charges: &Charges,
        ranks: [f64; 3],
    ) -> SimOutcome {
        if self.ios == 0 || wall <= 0.0 {
            return SimOutcome::default();
        }
        let costs = &charges.costs;
        let n = self.ios as f64;
        let cpu = (self.cpu + self.submitted + self.thought) as f64;
        let polling = self.ios - self.slept - self.interrupts;
        let other = self.slept as f64 * costs.other_sleep
            + self.interrupts as f64 * charges.other_interrupt
            + polling as f64 * costs.other_poll;
        let iops = n / wall * 1e9;
        SimOutcome {
            ios: self.ios as u64,
            gives: SimulatedFigures {
                rates: Rates {
                    iops,
                    cpu_pct: cpu / wall / lanes as f64 * 100.0,
                    miss_rate: self.misses as f64 / n,
                    effective_sleep_ns: self.asked as f64 / n,
                },
                cpu_ns_per_io: cpu / n,
                kiops_per_core: iops / 1e3 / ((cpu + other) / wall),
                t_over: self.late as f64 / self.waited as f64,
                t_under: self.polled as f64 / self.waited as f64,
                latencies: Latencies {
                    mean_ns: (self.submitted + self.observed) as f64 / n,
                    p50_ns: ranks[0],
                    p99_ns: ranks[1],
                    p999_ns: ranks[2],
                },
            },
        }
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, more: Sums) {
        self.ios += more.ios;
        self.misses += more.misses;
        self.asked += more.asked;
        self.slept += more.slept;
        self.interrupts += more.interrupts;
        self.polled += more.polled;
        self.cpu += more.cpu;
        self.late += more.late;
        self.observed += more.observed;
        self.waited += more.waited;
        self.submitted += more.submitted;
        self.thought += more.thought;
    }
}

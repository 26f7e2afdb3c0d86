//! Closed queueing networks whose stations have rates that depend on the number of customers there.
//!
//! The solution is that of product-form networks by convolution (Buzen 1973; load-dependent rates:
//! Reiser and Kobayashi 1975). It is exact where times at queues are exponential. At a delay, where
//! nobody waits, any distribution gives the same throughput.
//!
//! All factors are kept as logarithms: with hundreds of customers they leave the range of a
//! floating-point number.

/// Logarithms of the factor for each number of customers, from 0 to the population.
#[derive(Clone, Debug)]
pub struct Station(Vec<f64>);

impl Station {
    /// A station at which nobody waits: each customer stays for `time` on average, in any unit.
    pub fn delay(time: f64, population: usize) -> Station {
        Station::of_rates(population, |j| j as f64 / time)
    }

    /// A station that serves at `rate(j)` while `j` customers are there, from 1 to `population`.
    pub fn of_rates(population: usize, rate: impl Fn(usize) -> f64) -> Station {
        let mut log = 0.0;
        let behind = (1..=population).map(|j| {
            log -= rate(j).ln();
            log
        });
        Station(std::iter::once(0.0).chain(behind).collect())
    }

    /// Both stations, one after the other, as one.
    pub fn and(&self, other: &Station) -> Station {
        let population = self.population().min(other.population());
        Station((0..=population).map(|n| self.joint(other, n)).collect())
    }

    /// Passages per unit of time when `n` customers go from its end to its beginning at once.
    pub fn closed(&self, n: usize) -> f64 {
        (self.0[n - 1] - self.0[n]).exp()
    }

    /// As `self.and(other).closed(n)`, without the other populations.
    pub fn closed_with(&self, other: &Station, n: usize) -> f64 {
        (self.joint(other, n - 1) - self.joint(other, n)).exp()
    }

    fn population(&self) -> usize {
        self.0.len() - 1
    }

    fn joint(&self, other: &Station, n: usize) -> f64 {
        let term = |k: usize| self.0[k] + other.0[n - k];
        let most = (0..=n).map(term).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return most;
        }
        let sum: f64 = (0..=n).map(|k| (term(k) - most).exp()).sum();
        most + sum.ln()
    }
}

/// Throughput of `n` customers between two parts, each standing as its rate over the customers in
/// it: a flow-equivalent server (Chandy, Herzog and Woo 1975).
pub fn between(n: usize, there: impl Fn(usize) -> f64, back: impl Fn(usize) -> f64) -> f64 {
    // The states are those of a birth-death process: k customers are in the first part.
    let mut logs = Vec::with_capacity(n + 1);
    let mut log = 0.0;
    logs.push(log);
    for k in 1..=n {
        log += back(n - k + 1).ln() - there(k).ln();
        logs.push(log);
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut all, mut passed) = (0.0, 0.0);
    for (k, log) in logs.iter().enumerate() {
        let share = (log - most).exp();
        all += share;
        if k > 0 && share > 0.0 {
            passed += share * there(k);
        }
    }
    passed / all
}

/// Mean stay of each of `n` customers that spend `other` elsewhere without waiting there.
pub(crate) fn stay(n: usize, other: f64, rate: impl Fn(usize) -> f64) -> f64 {
    let there = Station::of_rates(n, rate);
    n as f64 / Station::delay(other, n).closed_with(&there, n) - other
}

//! Closed queueing networks whose stations' rates depend on the number of customers at the station.
//!
//! The solution is that of product-form networks, by convolution (Buzen 1973; load-dependent rates:
//! Reiser and Kobayashi 1975). It is exact if times at queues are exponential. At a delay, where
//! nobody waits, the throughput is the same for any distribution.
//!
//! All factors are logarithms, because with hundreds of customers they leave the range of
//! floating-point numbers.

/// One station: the logarithm of its factor for each number of customers, from 0 to the population.
#[derive(Clone, Debug)]
pub struct Station(Vec<f64>);

impl Station {
    /// A station where nobody waits: each customer stays for `time` on average, in any unit.
    pub fn delay(time: f64, population: usize) -> Station {
        Station::of_rates(population, |j| j as f64 / time)
    }

    /// A station that serves at `rate(j)` while `j` customers are there, for j from 1 to
    /// `population`.
    pub fn of_rates(population: usize, rate: impl Fn(usize) -> f64) -> Station {
        let mut log = 0.0;
        let behind = (1..=population).map(|j| {
            log -= rate(j).ln();
            log
        });
        Station(std::iter::once(0.0).chain(behind).collect())
    }

    /// Joins both stations in sequence to one.
    pub fn and(&self, other: &Station) -> Station {
        let population = self.population().min(other.population());
        Station((0..=population).map(|n| self.joint(other, n)).collect())
    }

    /// Throughput with `n` customers who return from the end to the start at once, per unit of
    /// time.
    pub fn closed(&self, n: usize) -> f64 {
        (self.0[n - 1] - self.0[n]).exp()
    }

    /// As `self.and(other).closed(n)`, but without the work for other populations.
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

/// Throughput of `n` customers that go around between two parts. A customer leaves the first part
/// at the rate `there(k)` if k are in it, and the second at `back(j)` if j are in it. Each part
/// acts as a flow-equivalent server (Chandy, Herzog and Woo 1975).
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

/// Mean stay of each of `n` customers at a station with these rates, between delays of `other`.
pub(crate) fn stay(n: usize, other: f64, rate: impl Fn(usize) -> f64) -> f64 {
    let there = Station::of_rates(n, rate);
    n as f64 / Station::delay(other, n).closed_with(&there, n) - other
}

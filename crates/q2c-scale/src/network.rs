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
        Station::from_rates(population, |j| j as f64 / time)
    }

    /// A station that serves at `rate(j)` while `j` customers are there, for j from 1 to
    /// `population`.
    pub fn from_rates(population: usize, rate: impl Fn(usize) -> f64) -> Station {
        Station(running_sums(population, |j| -rate(j).ln()))
    }

    /// Joins both stations in sequence to one.
    pub fn join(&self, other: &Station) -> Station {
        let population = self.population().min(other.population());
        Station((0..=population).map(|n| self.joint(other, n)).collect())
    }

    /// Throughput with `n` customers who return from the end to the start at once, per unit of
    /// time.
    pub fn throughput(&self, n: usize) -> f64 {
        (self.0[n - 1] - self.0[n]).exp()
    }

    /// As `self.join(other).throughput(n)`, but without the work for other populations.
    pub fn throughput_with(&self, other: &Station, n: usize) -> f64 {
        (self.joint(other, n - 1) - self.joint(other, n)).exp()
    }

    fn population(&self) -> usize {
        self.0.len() - 1
    }

    fn joint(&self, other: &Station, n: usize) -> f64 {
        let term = |k: usize| self.0[k] + other.0[n - k];
        let max = (0..=n).map(term).fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            return max;
        }
        let sum: f64 = (0..=n).map(|k| (term(k) - max).exp()).sum();
        max + sum.ln()
    }
}

/// The sums of the first 0, 1, ... `count` terms, numbered from 1.
pub(crate) fn running_sums(count: usize, term: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = (1..=count).map(|n| {
        sum += term(n);
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// Throughput of `n` customers that go around between two parts. A customer leaves the first part
/// at the rate `first(k)` if k are in it, and the second at `back(j)` if j are in it. Each part
/// acts as a flow-equivalent server (Chandy, Herzog and Woo 1975).
pub fn cycle_rate(n: usize, first: impl Fn(usize) -> f64, back: impl Fn(usize) -> f64) -> f64 {
    // The states are those of a birth-death process: k customers are in the first part.
    let logs = running_sums(n, |k| back(n - k + 1).ln() - first(k).ln());
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut flow) = (0.0, 0.0);
    for (k, log) in logs.iter().enumerate() {
        let share = (log - max).exp();
        total += share;
        if k > 0 && share > 0.0 {
            flow += share * first(k);
        }
    }
    flow / total
}

/// Mean stay of each of `n` customers at a station with these rates, between delays of `other`.
pub(crate) fn mean_stay(n: usize, other: f64, rate: impl Fn(usize) -> f64) -> f64 {
    let station = Station::from_rates(n, rate);
    n as f64 / Station::delay(other, n).throughput_with(&station, n) - other
}

//! A lock that is handed on in the order of arrival. Its time grows with the number of jobs that
//! wait at the hand-over.
//!
//! The chain of the numbers of jobs at the lock, observed at each release, is solved exactly. Jobs
//! are elsewhere for exponential times between two visits. The time for which the lock is held may
//! vary: it is log-normal, in five points (quadrature). A product-form solution as in `network`
//! would need exponential times of holding: then twice as many jobs wait for a rarely used lock as
//! with constant times.

use crate::network::running_sums;

/// Gauss-Hermite quadrature of five points for a standard normal distribution: nodes and weights
/// (Abramowitz and Stegun, table 25.10).
const NODES: [(f64, f64); 5] = [
    (-2.856_970_013_872_806, 0.011_257_411_327_720_7),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (2.856_970_013_872_806, 0.011_257_411_327_720_7),
];
/// Probability below which further arrivals are ignored.
const NEGLIGIBLE: f64 = 1e-13;

/// A lock that is handed on in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lock {
    /// Time for which it is held if nobody waits, ns.
    pub hold_ns: f64,
    /// Share of `hold_ns` that each waiting job adds to it.
    pub growth: f64,
    /// Standard deviation / mean of the time for which it is held.
    pub cv: f64,
}

impl Lock {
    /// How often `jobs` jobs take the lock, per ns, if each is elsewhere for `other_ns` on average.
    pub fn rate(&self, jobs: usize, other_ns: f64) -> f64 {
        let sigma = self.cv.powi(2).ln_1p().sqrt();
        let nodes = NODES.map(|(z, weight)| ((sigma * z - sigma * sigma / 2.0).exp(), weight));
        let chain = Chain {
            jobs,
            other_ns,
            nodes,
            log_factorials: running_sums(jobs, |n| (n as f64).ln()),
        };
        chain.rate(self)
    }

    pub(crate) fn held_ns(&self, waiting: usize) -> f64 {
        self.hold_ns * (1.0 + self.growth * waiting as f64)
    }
}

struct Chain {
    jobs: usize,
    other_ns: f64,
    nodes: [(f64, f64); 5],
    log_factorials: Vec<f64>,
}

impl Chain {
    fn rate(&self, lock: &Lock) -> f64 {
        // left[i]: relative frequency of releases that leave i jobs at the lock, from the flow over
        // each border between i and i + 1.
        let mut left = vec![0.0; self.jobs];
        let mut flows = vec![0.0; self.jobs];
        left[0] = 1.0;
        let mut cycle_ns = 0.0;
        let idle_ns = self.other_ns / self.jobs as f64;
        for i in 0..self.jobs {
            if i > 0 {
                let no_arrival = self.arrivals(lock, i).next(0);
                // Above a ratio of 1e250 the states below have no weight, and `left[i]` would
                // overflow: the chain begins anew at `i`.
                if no_arrival < f64::MIN_POSITIVE || flows[i - 1] / no_arrival > 1e250 {
                    left[..i].fill(0.0);
                    flows.fill(0.0);
                    cycle_ns = 0.0;
                    left[i] = 1.0;
                } else {
                    left[i] = flows[i - 1] / no_arrival;
                }
            }
            let idle_ns = if i == 0 { idle_ns } else { 0.0 };
            cycle_ns += left[i] * (idle_ns + lock.held_ns(i.max(1) - 1));
            self.flow_up(lock, i, left[i], &mut flows);
        }
        left.iter().sum::<f64>() / cycle_ns
    }

    /// Adds to the flow over each border at or above `i` the chance that a release out of state `i`
    /// leaves more jobs than that. After an empty lock the next hold begins with one job.
    fn flow_up(&self, lock: &Lock, i: usize, share: f64, flows: &mut [f64]) {
        let present = i.max(1);
        let mut beyond = 1.0;
        let mut arrivals = self.arrivals(lock, i);
        for arrived in 0..=self.jobs - present {
            beyond -= arrivals.next(arrived);
            // `beyond` is the probability that more than `border` jobs are there after the release.
            let border = present - 1 + arrived;
            if beyond < NEGLIGIBLE || border + 1 >= self.jobs {
                return;
            }
            // A change to a number below the state itself crosses no border upwards.
            if border >= i {
                flows[border] += share * beyond;
            }
        }
    }

    fn arrivals(&self, lock: &Lock, i: usize) -> Arrivals<'_> {
        let present = i.max(1);
        let outside = self.jobs - present;
        let held = lock.held_ns(present - 1) / self.other_ns;
        let chance = |(time, weight): (f64, f64)| weight * (-held * time * outside as f64).exp();
        Arrivals {
            chain: self,
            outside,
            log_stay: self.nodes.map(|(time, _)| -held * time),
            chances: self.nodes.map(chance),
        }
    }
}

/// Probabilities that 0, 1, 2, ... of the other jobs arrive during a hold: binomial for each node.
struct Arrivals<'a> {
    chain: &'a Chain,
    outside: usize,
    /// Logarithm of the probability that one of the other jobs stays away, for each node.
    log_stay: [f64; 5],
    /// For each node, its weight times the probability of the number of arrivals asked for last.
    chances: [f64; 5],
}

impl Arrivals<'_> {
    /// The probability that exactly `arrived` jobs arrive. Call it with 0, 1, 2, ... in turn.
    fn next(&mut self, arrived: usize) -> f64 {
        let outside = self.outside;
        if arrived > 0 {
            for node in 0..self.chances.len() {
                let log_stay = self.log_stay[node];
                let odds = -log_stay.exp_m1() / log_stay.exp();
                self.chances[node] = if log_stay * (outside as f64) > MIN_LOG {
                    self.chances[node] * (outside - arrived + 1) as f64 / arrived as f64 * odds
                } else {
                    self.probability_of(node, arrived)
                };
            }
        }
        self.chances.iter().sum()
    }

    fn probability_of(&self, node: usize, arrived: usize) -> f64 {
        let (log, outside) = (&self.chain.log_factorials, self.outside);
        let ways = log[outside] - log[arrived] - log[outside - arrived];
        let log_stay = self.log_stay[node];
        let arriving = (-log_stay.exp_m1()).ln() * arrived as f64;
        let weight = self.chain.nodes[node].1;
        weight * (ways + arriving + log_stay * (outside - arrived) as f64).exp()
    }
}

/// Logarithm of the smallest probability whose products are still exact.
const MIN_LOG: f64 = -600.0;

//! A lock that is handed on in the order of arrival. Its time grows with the number of jobs that
//! wait at the hand-over.
//!
//! The chain of the numbers of jobs at the lock, observed at each release, is solved exactly. Jobs
//! are elsewhere for exponential times between two visits. The time for which the lock is held may
//! vary: it has the five nodes of a log-normal distribution. A product form needs exponential
//! times. With these, twice as many jobs wait for a rarely used lock as with constant times.

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
            log_factorials: log_factorials(jobs),
        };
        chain.rate(self)
    }

    pub(crate) fn held_ns(&self, waiting: usize) -> f64 {
        self.hold_ns * (1.0 + self.growth * waiting as f64)
    }
}

fn log_factorials(most: usize) -> Vec<f64> {
    let mut log = 0.0;
    let behind = (1..=most).map(|n| {
        log += (n as f64).ln();
        log
    });
    std::iter::once(0.0).chain(behind).collect()
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
        let mut up = vec![0.0; self.jobs];
        left[0] = 1.0;
        let mut cycle_ns = 0.0;
        let idle_ns = self.other_ns / self.jobs as f64;
        for i in 0..self.jobs {
            if i > 0 {
                let none = self.arrivals(lock, i).next(0);
                if none < f64::MIN_POSITIVE || up[i - 1] / none > 1e250 {
                    left[..i].fill(0.0);
                    up.fill(0.0);
                    cycle_ns = 0.0;
                    left[i] = 1.0;
                } else {
                    left[i] = up[i - 1] / none;
                }
            }
            let idle_ns = if i == 0 { idle_ns } else { 0.0 };
            cycle_ns += left[i] * (idle_ns + lock.held_ns(i.max(1) - 1));
            self.flow_up(lock, i, left[i], &mut up);
        }
        left.iter().sum::<f64>() / cycle_ns
    }

    fn flow_up(&self, lock: &Lock, i: usize, share: f64, up: &mut [f64]) {
        let at = i.max(1);
        let mut beyond = 1.0;
        let mut arrivals = self.arrivals(lock, i);
        for arrived in 0..=self.jobs - at {
            beyond -= arrivals.next(arrived);
            // Then at - 1 + arrived or more jobs are there.
            let border = at - 1 + arrived;
            if beyond < NEGLIGIBLE || border + 1 >= self.jobs {
                return;
            }
            // A change to a number below the state itself crosses no border upwards.
            if border >= i {
                up[border] += share * beyond;
            }
        }
    }

    fn arrivals(&self, lock: &Lock, i: usize) -> Arrivals<'_> {
        let at = i.max(1);
        let outside = self.jobs - at;
        let held = lock.held_ns(at - 1) / self.other_ns;
        let now = |(time, weight): (f64, f64)| weight * (-held * time * outside as f64).exp();
        Arrivals {
            chain: self,
            outside,
            stays: self.nodes.map(|(time, _)| -held * time),
            now: self.nodes.map(now),
        }
    }
}

/// Probabilities that 0, 1, 2, ... of the other jobs arrive during a hold: binomial for each node.
struct Arrivals<'a> {
    chain: &'a Chain,
    outside: usize,
    /// Logarithm of the probability that one of the other jobs stays away, for each node.
    stays: [f64; 5],
    now: [f64; 5],
}

impl Arrivals<'_> {
    fn next(&mut self, arrived: usize) -> f64 {
        let outside = self.outside;
        if arrived > 0 {
            for node in 0..self.now.len() {
                let stays = self.stays[node];
                let odds = -stays.exp_m1() / stays.exp();
                self.now[node] = if stays * (outside as f64) > LEAST_LOG {
                    self.now[node] * (outside - arrived + 1) as f64 / arrived as f64 * odds
                } else {
                    self.directly(node, arrived)
                };
            }
        }
        self.now.iter().sum()
    }

    fn directly(&self, node: usize, arrived: usize) -> f64 {
        let (log, outside) = (&self.chain.log_factorials, self.outside);
        let ways = log[outside] - log[arrived] - log[outside - arrived];
        let stays = self.stays[node];
        let comes = (-stays.exp_m1()).ln() * arrived as f64;
        let weight = self.chain.nodes[node].1;
        weight * (ways + comes + stays * (outside - arrived) as f64).exp()
    }
}

/// Logarithm of the smallest probability whose products are still exact.
const LEAST_LOG: f64 = -600.0;

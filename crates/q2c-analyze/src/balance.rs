//! Requests of each hardware queue, and how evenly they are spread.

use crate::queue_map::QueueMap;
use q2c_model::{DevId, Op};
use q2c_result::analyze::{Balance, DeviceQueues, Hctx, QueueSet, QueueUse};
use q2c_trace::Span;
use q2c_trace::span::NONE_32;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of requests of each CPU.
type ByCpu = BTreeMap<u32, u64>;
/// Number of requests of each queue, by submitting CPU.
type ByQueue = BTreeMap<u32, ByCpu>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum OpClass {
    Read,
    Write,
    Other,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct QueueBalance {
    counts: BTreeMap<(DevId, OpClass), ByQueue>,
    /// True if a request was left out because the tables were full.
    pub(crate) full: bool,
}

impl QueueBalance {
    /// Most queues, and most CPUs of a queue, that are counted: more than any device has.
    const MAX_QUEUES: usize = 4096;
    /// Most pairs of device and operation class; requests of any further pair are left out.
    const MAX_KEYS: usize = 3 * 512;

    pub(crate) fn add(&mut self, span: &Span) {
        if span.hctx == NONE_32 {
            return;
        }
        let class = match span.op {
            Op::Read => OpClass::Read,
            Op::Write => OpClass::Write,
            Op::Flush | Op::Discard | Op::Other => OpClass::Other,
        };
        self.count((span.device, class), span.hctx, span.cpu_submit, 1);
    }

    fn count(&mut self, key: (DevId, OpClass), hctx: u32, cpu: u32, requests: u64) {
        match self.count_mut(key, hctx, cpu) {
            Some(count) => *count = count.saturating_add(requests),
            None => self.full = true,
        }
    }

    /// The request count of a CPU; `None` if the tables are full.
    fn count_mut(&mut self, key: (DevId, OpClass), hctx: u32, cpu: u32) -> Option<&mut u64> {
        if self.counts.len() >= Self::MAX_KEYS && !self.counts.contains_key(&key) {
            return None;
        }
        let queues = self.counts.entry(key).or_default();
        if queues.len() >= Self::MAX_QUEUES && !queues.contains_key(&hctx) {
            return None;
        }
        let cpus = queues.entry(hctx).or_default();
        let fits = cpus.len() < Self::MAX_QUEUES || cpus.contains_key(&cpu);
        fits.then(|| cpus.entry(cpu).or_default())
    }

    pub(crate) fn merge(&mut self, other: &QueueBalance) {
        self.full |= other.full;
        for (key, queues) in &other.counts {
            for (hctx, cpus) in queues {
                for (cpu, requests) in cpus {
                    self.count(*key, *hctx, *cpu, *requests);
                }
            }
        }
    }

    pub(crate) fn queues_and_balance(&self) -> (Vec<Hctx>, Option<Balance>) {
        let counts_by_queue = sum_counts(self.counts.values());
        let queues = queue_counts(&counts_by_queue);
        let counts: Vec<u64> = queues.iter().map(|queue| queue.requests).collect();
        (queues, (!counts.is_empty()).then(|| verdict(&counts)))
    }

    pub(crate) fn by_device(&self) -> Vec<DeviceQueues> {
        let devices: BTreeSet<DevId> = self.counts.keys().map(|(device, _)| *device).collect();
        devices.into_iter().map(|id| self.queues(id)).collect()
    }

    fn queues(&self, device: DevId) -> DeviceQueues {
        let class_use = |class| {
            let counts = self.counts.get(&(device, class))?;
            Some(queue_use(queue_counts(counts)))
        };
        let of_device = self.counts.iter().filter(|((key, _), _)| *key == device);
        DeviceQueues {
            device: device.to_string(),
            queues: None,
            all: queue_use(queue_counts(&sum_counts(
                of_device.map(|(_, counts)| counts),
            ))),
            reads: class_use(OpClass::Read),
            writes: class_use(OpClass::Write),
        }
    }
}

fn sum_counts<'a>(all: impl Iterator<Item = &'a ByQueue>) -> ByQueue {
    let mut sum = ByQueue::new();
    for (queue, cpus) in all.flatten() {
        let cpu_sums = sum.entry(*queue).or_default();
        for (cpu, n) in cpus {
            *cpu_sums.entry(*cpu).or_default() += n;
        }
    }
    sum
}

fn saturating_sum<'a>(counts: impl IntoIterator<Item = &'a u64>) -> u64 {
    counts.into_iter().copied().fold(0, u64::saturating_add)
}

fn queue_counts(counts: &ByQueue) -> Vec<Hctx> {
    let total = saturating_sum(counts.values().flat_map(BTreeMap::values));
    let queue = |(hctx, cpus): (&u32, &ByCpu)| {
        let requests = saturating_sum(cpus.values());
        let known_cpus = cpus.iter().filter(|(cpu, _)| **cpu != NONE_32);
        Hctx {
            hctx: *hctx,
            requests,
            share: requests as f64 / total as f64,
            cpus: known_cpus.map(|(cpu, n)| (*cpu, *n)).collect(),
            expected: None,
        }
    };
    counts.iter().map(queue).collect()
}

/// Judges the queues that had requests. [`complete`] adds what needs a map of the device's queues.
fn queue_use(queues: Vec<Hctx>) -> QueueUse {
    let counts: Vec<u64> = queues.iter().map(|queue| queue.requests).collect();
    QueueUse {
        requests: saturating_sum(&counts),
        used: verdict(&counts),
        queues,
        ..QueueUse::default()
    }
}

/// Adds the device's unused queues and its queue sets, by the map that was valid while recording.
pub(crate) fn complete(device: &mut DeviceQueues, map: &QueueMap) {
    device.queues = Some(map.queue_numbers().count() as u64);
    let sets = map.sets();
    let classes = [device.reads.as_mut(), device.writes.as_mut()];
    for usage in classes.into_iter().flatten().chain([&mut device.all]) {
        let listed = |queue: &u32| usage.queues.iter().any(|row| row.hctx == *queue);
        let missing: Vec<u32> = map.queue_numbers().filter(|queue| !listed(queue)).collect();
        usage.queues.extend(missing.into_iter().map(|hctx| Hctx {
            hctx,
            ..Hctx::default()
        }));
        usage.queues.sort_by_key(|queue| queue.hctx);
        complete_sets(usage, &sets);
        map.judge(usage, &sets);
    }
}

fn complete_sets(usage: &mut QueueUse, sets: &[Vec<u32>]) {
    let counts: BTreeMap<u32, u64> = usage.queues.iter().map(|q| (q.hctx, q.requests)).collect();
    let queue_set = |set: &Vec<u32>| {
        let counts: Vec<u64> = set.iter().map(|queue| counts[queue]).collect();
        let requests = counts.iter().sum();
        QueueSet {
            queues: set.clone(),
            requests,
            even: (requests > 0).then(|| verdict(&counts)),
        }
    };
    let sets: Vec<QueueSet> = sets.iter().map(queue_set).collect();
    let used_sets: Vec<&QueueSet> = sets.iter().filter(|set| set.requests > 0).collect();
    let queues = used_sets.iter().flat_map(|set| &set.queues).copied();
    usage.unused = Some(queues.filter(|queue| counts[queue] == 0).collect());
    let only_set = used_sets.first().filter(|_| used_sets.len() == 1);
    usage.even = only_set.and_then(|set| set.even.clone());
    if sets.len() > 1 {
        usage.sets = sets;
    }
}

/// Counts are even if chance explains their differences (p of at least 0.001), or if they deviate
/// by at most 1 % (standard deviation / mean). With millions of requests, chi-square alone would
/// call any difference uneven. A deviation up to 10 % is nearly even.
pub(crate) fn verdict(counts: &[u64]) -> Balance {
    let queues = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / queues;
    let squares: f64 = counts.iter().map(|n| (*n as f64 - mean).powi(2)).sum();
    let (chi_square, cv) = (squares / mean, (squares / queues).sqrt() / mean);
    let p = chi_square_p(chi_square, counts.len().saturating_sub(1));
    let verdict = if counts.len() < 2 {
        "one queue"
    } else if p >= 0.001 || cv <= 0.01 {
        "even"
    } else if cv <= 0.1 {
        "nearly even"
    } else {
        "uneven"
    };
    Balance {
        queues: counts.len() as u64,
        cv,
        chi_square,
        p,
        verdict: verdict.to_owned(),
    }
}

/// The probability that chance gives a chi-square of at least `x`. It is the regularised upper
/// incomplete gamma function of (`degrees` / 2, `x` / 2): a series for small `x`, a continued
/// fraction for large `x`.
pub(crate) fn chi_square_p(x: f64, degrees: usize) -> f64 {
    if degrees == 0 || x <= 0.0 {
        return 1.0;
    }
    let (a, x) = (degrees as f64 / 2.0, x / 2.0);
    let scale = (a * x.ln() - x - ln_gamma_of_half(degrees)).exp();
    let p = if x < a + 1.0 {
        1.0 - scale * series(a, x)
    } else {
        scale * fraction(a, x)
    };
    p.clamp(0.0, 1.0)
}

/// ln of gamma(n / 2), from gamma(1) = 1 or gamma(1/2) = sqrt(pi) upwards by gamma(a + 1) = a
/// gamma(a).
fn ln_gamma_of_half(n: usize) -> f64 {
    let (mut a, mut sum) = match n % 2 {
        0 => (1.0, 0.0),
        _ => (0.5, std::f64::consts::PI.sqrt().ln()),
    };
    while a < n as f64 / 2.0 {
        sum += f64::ln(a);
        a += 1.0;
    }
    sum
}

/// The sum of x^k / (a (a + 1) ... (a + k)) over all k from 0.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
    while term > sum * 1e-15 {
        k += 1.0;
        term *= x / k;
        sum += term;
    }
    sum
}

/// The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...)), cut at a
/// depth beyond which it does not change.
fn fraction(a: f64, x: f64) -> f64 {
    const DEPTH: u32 = 2000;
    let deepest = x + f64::from(2 * DEPTH + 1) - a;
    let below = (1..=DEPTH).rev().fold(deepest, |below, k| {
        let k = f64::from(k);
        (x + 2.0 * k - 1.0 - a) - k * (k - a) / below
    });
    1.0 / below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are the critical values of printed tables of the chi-square distribution.
    #[test]
    fn probabilities_are_those_of_the_tables() {
        for (x, degrees, p) in [
            (3.841, 1, 0.05),
            (6.635, 1, 0.01),
            (5.991, 2, 0.05),
            (16.266, 3, 0.001),
            (11.070, 5, 0.05),
            (18.307, 10, 0.05),
            (2.558, 10, 0.99),
            (124.342, 100, 0.05),
        ] {
            let got = chi_square_p(x, degrees);
            assert!((got - p).abs() < 0.002 * p + 1e-5, "{x}, {degrees}: {got}");
        }
        assert_eq!(chi_square_p(0.0, 3), 1.0);
        assert!(chi_square_p(1e6, 3) < 1e-300);
    }

    #[test]
    fn verdicts() {
        let verdict_of = |counts: &[u64]| verdict(counts).verdict;
        assert_eq!(verdict_of(&[500]), "one queue");
        assert_eq!(verdict_of(&[250; 4]), "even");
        // The deviations are near the standard deviation of Poisson counts, sqrt(1000), so chance
        // explains them.
        assert_eq!(verdict_of(&[1032, 968, 1010, 990]), "even");
        // The difference is beyond chance, but small.
        assert_eq!(verdict_of(&[1_005_000, 995_000]), "even");
        assert_eq!(verdict_of(&[105_000, 95_000]), "nearly even");
        assert_eq!(verdict_of(&[900, 100, 500, 500]), "uneven");
    }

    /// By hand: the mean is 500, the sum of squares 400^2 + 400^2 = 320 000, chi-square 320 000 /
    /// 500 = 640, and cv is sqrt(320 000 / 4) / 500.
    #[test]
    fn figures_by_hand() {
        let balance = verdict(&[900, 100, 500, 500]);
        assert_eq!(balance.chi_square, 640.0);
        assert!((balance.cv - 80_000f64.sqrt() / 500.0).abs() < 1e-12);
        assert_eq!(balance.queues, 4);
    }
}

//! Requests by hardware queue, and how evenly they are spread.

use q2c_result::analyze::{Balance, Hctx};
use q2c_trace::Span;
use q2c_trace::span::NONE_32;
use std::collections::BTreeMap;

/// Counts requests by hardware queue and submitting CPU.
#[derive(Default)]
pub(crate) struct Queues {
    by_queue: BTreeMap<u32, BTreeMap<u32, u64>>,
}

impl Queues {
    /// Most queues, and most CPUs of a queue, that are told apart: more than any device has.
    const MOST: usize = 4096;

    pub(crate) fn add(&mut self, span: &Span) {
        if span.hctx == NONE_32 {
            return;
        }
        if self.by_queue.len() >= Self::MOST && !self.by_queue.contains_key(&span.hctx) {
            return;
        }
        let cpus = self.by_queue.entry(span.hctx).or_default();
        if cpus.len() < Self::MOST {
            *cpus.entry(span.cpu_submit).or_default() += 1;
        }
    }

    pub(crate) fn told(self) -> (Vec<Hctx>, Option<Balance>) {
        let counts: Vec<u64> = self
            .by_queue
            .values()
            .map(|cpus| cpus.values().sum())
            .collect();
        let all: u64 = counts.iter().sum();
        let queue = |((hctx, mut cpus), requests): ((u32, BTreeMap<u32, u64>), &u64)| {
            cpus.remove(&NONE_32);
            Hctx {
                hctx,
                requests: *requests,
                share: *requests as f64 / all as f64,
                cpus,
            }
        };
        let told = self.by_queue.into_iter().zip(&counts).map(queue).collect();
        (told, (all > 0).then(|| verdict(&counts)))
    }
}

/// How even the counts of some queues are: `one queue`, `even`, `nearly even` or `uneven`.
///
/// Counts are even when chance explains their differences (p of at least 0.001). With millions of
/// requests chi-square alone would call any difference uneven; therefore a deviation (standard
/// deviation over mean) of at most 1 % is even too. A deviation of at most 10 % is nearly even.
#[must_use]
pub fn verdict(counts: &[u64]) -> Balance {
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
    let (queues, verdict) = (counts.len() as u64, verdict.to_owned());
    Balance {
        queues,
        cv,
        chi_square,
        p,
        verdict,
    }
}

/// The probability of a chi-square of at least `x` by chance. It is the regularised upper
/// incomplete gamma function of half the degrees of freedom and half of `x`, computed by its series
/// for a small `x` and by its continued fraction for a large one. It is 1 without degrees of
/// freedom.
#[must_use]
pub fn chi_square_p(x: f64, degrees: usize) -> f64 {
    if degrees == 0 || x <= 0.0 {
        return 1.0;
    }
    let (a, x) = (degrees as f64 / 2.0, x / 2.0);
    let scale = (a * x.ln() - x - ln_gamma_of_half(degrees)).exp();
    let p = match x < a + 1.0 {
        true => 1.0 - scale * series(a, x),
        false => scale * fraction(a, x),
    };
    p.clamp(0.0, 1.0)
}

/// ln of gamma(n / 2), computed upwards from gamma(1) = 1 or gamma(1/2) = sqrt(pi) by gamma(a + 1)
/// = a gamma(a).
fn ln_gamma_of_half(n: usize) -> f64 {
    let (mut a, mut sum) = match n % 2 {
        0 => (1.0, 0.0),
        _ => (0.5, std::f64::consts::PI.sqrt().ln()),
    };
    while a + 0.75 < n as f64 / 2.0 {
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

    /// The critical values are those printed in tables of the chi-square distribution.
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
        let of = |counts: &[u64]| verdict(counts).verdict;
        assert_eq!(of(&[500]), "one queue");
        assert_eq!(of(&[250; 4]), "even");
        // The deviations are about the standard deviation of Poisson counts, sqrt(1000): chance
        // explains them.
        assert_eq!(of(&[1032, 968, 1010, 990]), "even");
        // The difference is beyond chance, but small.
        assert_eq!(of(&[1_005_000, 995_000]), "even");
        assert_eq!(of(&[105_000, 95_000]), "nearly even");
        assert_eq!(of(&[900, 100, 500, 500]), "uneven");
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

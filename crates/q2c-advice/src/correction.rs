//! The correction of the cost model that the trials suggest.

use q2c_model::{CostModel, Curve, WakeDelay};
use serde::{Deserialize, Serialize};

/// The changes of the calibrated costs; zeros change nothing. Each of the four numbers changes a
/// figure that many trials show, and a round of ten trials can tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// Latency added to every I/O that slept, as a share of the median latency; may be negative.
    pub latency: f64,
    /// Latency added to every I/O that slept, as a share of the sleep asked. It is negative where
    /// polling slows the device, so that a sleep relieves it.
    pub relief: f64,
    /// Added to every wake-up delay, as a share of that calibrated for half the median latency.
    pub wake: f64,
    /// Thread CPU added to a sleep, as a share of its calibrated thread CPU.
    pub sleep_cpu: f64,
}

pub(crate) const TERMS: usize = 4;
/// Standard deviations of the terms before the first trial. The delay of a wake-up was seen to vary
/// between 22 and 37 us within minutes (docs/journal/2026-11-20-tune-fidelity.md).
pub(crate) const PRIOR_SD: [f64; TERMS] = [0.03, 0.05, 0.15, 0.15];
/// Limit of a term, in standard deviations of [`PRIOR_SD`]; a correction cannot express more.
const MAX_SDS: f64 = 3.0;

/// How much the trials contradict a calibrated cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    /// The cost that the trials suggest, divided by the calibrated one.
    pub factor: f64,
    /// True if the factor is at its limit; the trials may suggest more.
    pub at_bound: bool,
}

/// A term beyond this share of its cost contradicts the calibrated cost.
const CONTRADICTION_SHARE: f64 = 0.25;

impl Correction {
    /// The contradiction in the wake-up delay; `None` if it is off by at most a quarter.
    pub fn wake_contradiction(&self) -> Option<Contradiction> {
        contradiction(self.wake, PRIOR_SD[2])
    }

    /// The contradiction in the thread CPU of a sleep, as in [`Correction::wake_contradiction`].
    pub fn sleep_cpu_contradiction(&self) -> Option<Contradiction> {
        contradiction(self.sleep_cpu, PRIOR_SD[3])
    }

    pub(crate) fn terms(&self) -> [f64; TERMS] {
        [self.latency, self.relief, self.wake, self.sleep_cpu]
    }

    /// Limits each term to `MAX_SDS` standard deviations of its prior.
    pub(crate) fn clamped(terms: [f64; TERMS]) -> Self {
        let limited = |i: usize| terms[i].clamp(-MAX_SDS * PRIOR_SD[i], MAX_SDS * PRIOR_SD[i]);
        Correction {
            latency: limited(0),
            relief: limited(1),
            wake: limited(2),
            sleep_cpu: limited(3),
        }
    }

    /// Returns the corrected costs on a device whose median latency is `latency_ns`.
    pub(crate) fn apply(&self, cost: &CostModel, latency_ns: f64) -> CostModel {
        if *self == Correction::default() {
            return cost.clone();
        }
        let delay_ns = self.wake * cost.wake_clear.base_ns.value_at(latency_ns / 2.0);
        let scaled = |curve: &Curve| map_curve(curve, |y| y * (1.0 + self.sleep_cpu));
        CostModel {
            wake_clear: delay_wake(&cost.wake_clear, delay_ns),
            wake_hit: delay_wake(&cost.wake_hit, delay_ns),
            sleep_cpu_clear_ns: scaled(&cost.sleep_cpu_clear_ns),
            sleep_cpu_hit_ns: scaled(&cost.sleep_cpu_hit_ns),
            added_latency_ns: self.added_latency(&cost.added_latency_ns, latency_ns),
            ..cost.clone()
        }
    }

    fn added_latency(&self, calibrated: &Curve, latency_ns: f64) -> Curve {
        // The curve extends from no sleep to four times the latency, longer than any rule sleeps.
        // Beyond that curves are flat.
        let mut x: Vec<f64> = calibrated.x.clone();
        x.extend([0.0, 4.0 * latency_ns]);
        x.sort_by(f64::total_cmp);
        x.dedup();
        let y_at = |&x: &f64| calibrated.value_at(x) + self.latency * latency_ns + self.relief * x;
        Curve {
            y: x.iter().map(y_at).collect(),
            x,
        }
    }
}

fn contradiction(term: f64, prior_sd: f64) -> Option<Contradiction> {
    (term.abs() > CONTRADICTION_SHARE).then(|| Contradiction {
        factor: 1.0 + term,
        at_bound: term.abs() >= MAX_SDS * prior_sd,
    })
}

fn map_curve(curve: &Curve, value: impl Fn(f64) -> f64) -> Curve {
    Curve {
        x: curve.x.clone(),
        y: curve.y.iter().map(|&y| value(y)).collect(),
    }
}

fn delay_wake(wake: &WakeDelay, delay_ns: f64) -> WakeDelay {
    let shifted = |curve: &Curve| map_curve(curve, |y| (y + delay_ns).max(0.0));
    WakeDelay {
        base_ns: shifted(&wake.base_ns),
        least_ns: shifted(&wake.least_ns),
        most_ns: shifted(&wake.most_ns),
        ..wake.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;

    /// 2 % of a latency of 100 us is 2 us, 10 % relief of a sleep of 50 us is 5 us, and 50 % of a
    /// delay of 10 us is 5 us.
    #[test]
    fn each_term_moves_its_own_cost() {
        let mut cost = CostModel::delayed(Nanos(10_000));
        cost.sleep_cpu_clear_ns = Curve::constant(4_000.0);
        let correction = Correction {
            latency: 0.02,
            relief: -0.1,
            wake: 0.5,
            sleep_cpu: 0.25,
        };
        let corrected = correction.apply(&cost, 100_000.0);
        let added_ns = corrected.added_latency_ns.value_at(50_000.0);
        assert_eq!(added_ns, 2_000.0 - 5_000.0);
        assert_eq!(corrected.wake_clear.base_ns.value_at(1.0), 15_000.0);
        assert_eq!(corrected.sleep_cpu_clear_ns.value_at(1.0), 5_000.0);
        assert_eq!(Correction::default().apply(&cost, 1.0), cost);
    }

    #[test]
    fn a_cost_that_is_off_by_more_than_a_quarter_is_contradicted() {
        let contradicted = |sleep_cpu: f64| {
            let correction = Correction::clamped([0.0, 0.0, 0.2, sleep_cpu]);
            assert_eq!(correction.wake_contradiction(), None);
            correction
                .sleep_cpu_contradiction()
                .map(|c| ((c.factor * 100.0).round(), c.at_bound))
        };
        assert_eq!(contradicted(0.2), None);
        assert_eq!(contradicted(0.3), Some((130.0, false)));
        assert_eq!(contradicted(-0.3), Some((70.0, false)));
        assert_eq!(contradicted(-2.0), Some((55.0, true)));
    }
}

//! What trials taught about the cost model.

use q2c_model::{CostModel, Curve, WakeDelay};
use serde::{Deserialize, Serialize};

/// How the calibrated costs are changed. All zero: not at all.
///
/// Four numbers and no more: each moves what many trials show, and a round of ten trials can tell
/// them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// Added to the latency of every I/O that slept, as a share of the device's median latency.
    /// Negative where the device is faster for a CPU that sleeps.
    pub latency: f64,
    /// Added to that latency, as a share of the sleep asked: polling that slows the device gives
    /// time back with each microsecond slept (negative).
    pub relief: f64,
    /// Added to the delay of every wake-up, as a share of the calibrated delay of a sleep of half
    /// the median latency.
    pub wake: f64,
    /// Added to the thread CPU of a sleep, as a share of it.
    pub sleep_cpu: f64,
}

/// How many numbers a correction has.
pub(crate) const TERMS: usize = 4;
/// How far each may be off before anything was measured: standard deviations. A wake-up's delay was
/// seen between 22 and 37 us for the same sleep within minutes
/// (docs/journal/2026-11-20-tune-fidelity.md).
pub(crate) const PRIOR: [f64; TERMS] = [0.03, 0.05, 0.15, 0.15];
/// Corrections beyond so many of them are held there: the trials then show something else.
const MOST: f64 = 3.0;

impl Correction {
    pub(crate) fn terms(&self) -> [f64; TERMS] {
        [self.latency, self.relief, self.wake, self.sleep_cpu]
    }

    /// From the four numbers, each within what is credible.
    pub(crate) fn of(terms: [f64; TERMS]) -> Self {
        let held = |i: usize| terms[i].clamp(-MOST * PRIOR[i], MOST * PRIOR[i]);
        Correction {
            latency: held(0),
            relief: held(1),
            wake: held(2),
            sleep_cpu: held(3),
        }
    }

    /// The corrected costs, on a device whose median latency is `latency_ns`.
    #[must_use]
    pub fn apply(&self, cost: &CostModel, latency_ns: f64) -> CostModel {
        if *self == Correction::default() {
            return cost.clone();
        }
        let later = self.wake * cost.wake_clear.base_ns.at(latency_ns / 2.0);
        let scaled = |curve: &Curve| Curve {
            x: curve.x.clone(),
            y: curve.y.iter().map(|y| y * (1.0 + self.sleep_cpu)).collect(),
        };
        CostModel {
            wake_clear: delayed(&cost.wake_clear, later),
            wake_hit: delayed(&cost.wake_hit, later),
            sleep_cpu_clear_ns: scaled(&cost.sleep_cpu_clear_ns),
            sleep_cpu_hit_ns: scaled(&cost.sleep_cpu_hit_ns),
            added_latency_ns: self.added_latency(&cost.added_latency_ns, latency_ns),
            ..cost.clone()
        }
    }

    fn added_latency(&self, known: &Curve, latency_ns: f64) -> Curve {
        // Straight from no sleep to the longest that any rule will ask for; beyond it the curve is
        // flat.
        let mut x: Vec<f64> = known.x.clone();
        x.extend([0.0, 4.0 * latency_ns]);
        x.sort_by(f64::total_cmp);
        x.dedup();
        let at = |&x: &f64| known.at(x) + self.latency * latency_ns + self.relief * x;
        Curve {
            y: x.iter().map(at).collect(),
            x,
        }
    }
}

fn delayed(wake: &WakeDelay, by: f64) -> WakeDelay {
    let shifted = |curve: &Curve| Curve {
        x: curve.x.clone(),
        y: curve.y.iter().map(|y| (y + by).max(0.0)).collect(),
    };
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

    /// On a device of 100 us: 2 % latency is 2 us, 10 % relief of a 50 us sleep 5 us, 50 % of a 10
    /// us wake-up 5 us.
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
        assert_eq!(corrected.added_latency_ns.at(50_000.0), 2_000.0 - 5_000.0);
        assert_eq!(corrected.wake_clear.base_ns.at(1.0), 15_000.0);
        assert_eq!(corrected.sleep_cpu_clear_ns.at(1.0), 5_000.0);
        assert_eq!(Correction::default().apply(&cost, 1.0), cost);
    }
}

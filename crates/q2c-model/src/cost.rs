//! The cost model: what a machine charges for submitting, sleeping, waking, polling and being interrupted.
//!
//! Measured by calibration with I/O in flight, used by the simulator, kept in every run.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// A piecewise linear function given by its corner points, constant outside them.
///
/// Shape: `x` ascending, `y` as long as `x`, at least one point. Units are the field's that holds it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Abscissae, ascending.
    pub x: Vec<f64>,
    /// Ordinates.
    pub y: Vec<f64>,
}

impl Curve {
    /// The same value everywhere.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Curve {
            x: vec![0.0],
            y: vec![value],
        }
    }

    /// The value at `at`; 0 for an empty curve.
    #[must_use]
    pub fn at(&self, at: f64) -> f64 {
        let after = self.x.partition_point(|&x| x <= at);
        match (after.checked_sub(1), self.x.get(after)) {
            (None, _) => self.y.first().copied().unwrap_or(0.0),
            (Some(last), None) => self.y[last],
            (Some(i), Some(&next)) => {
                let share = (at - self.x[i]) / (next - self.x[i]);
                self.y[i] + share * (self.y[after] - self.y[i])
            }
        }
    }
}

/// How late a timer wakes its sleeper: `delay = base(s) + spread(s) * z`, one draw `z` per I/O, common to
/// every configuration that is simulated on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WakeDelay {
    /// Median delay, ns, over the sleep asked, ns.
    pub base_ns: Curve,
    /// Scale of the deviation, ns, over the sleep asked, ns.
    pub spread_ns: Curve,
    /// The standardised deviation: its quantiles at equally spaced probabilities (midpoints), ascending.
    pub z: Vec<f64>,
}

/// Everything a simulated I/O costs on one machine, CPU, target and block size. All times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// Block size it was measured at.
    pub bs: Bytes,
    /// Wall time of the submission (before it to its return), median.
    pub submit_ns: f64,
    /// From reaping to the next submission, median: bookkeeping of the loop.
    pub turnaround_ns: f64,
    /// Resolution of a spinning poll: mean distance between two looks at the ring.
    pub poll_granularity_ns: f64,
    /// Wake-up delay when the completion did not fall into the sleep.
    pub wake_clear: WakeDelay,
    /// Wake-up delay when it did: the interrupt runs on the sleeper's CPU or beside it.
    pub wake_hit: WakeDelay,
    /// Thread CPU of one sleep (arming, leaving and returning to the CPU), over the sleep asked.
    pub sleep_cpu_ns: Curve,
    /// What a sleep adds to the device's latency without any miss, over the sleep asked.
    pub added_latency_ns: Curve,
    /// Thread CPU of one interrupt-driven I/O, submission included.
    pub interrupt_cpu_ns: f64,
    /// Latency of an interrupt-driven I/O above a polled one.
    pub interrupt_latency_ns: f64,
    /// Busy CPU of the machine beyond the thread's own, per I/O: polling.
    pub other_cpu_poll_ns: f64,
    /// The same: sleeping, then polling.
    pub other_cpu_sleep_ns: f64,
    /// The same: waiting for the interrupt.
    pub other_cpu_interrupt_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_joins_its_points_and_is_flat_outside() {
        let curve = Curve {
            x: vec![10.0, 20.0],
            y: vec![1.0, 3.0],
        };
        let values: Vec<f64> = [0.0, 10.0, 15.0, 20.0, 99.0].map(|x| curve.at(x)).to_vec();
        assert_eq!(values, [1.0, 1.0, 2.0, 3.0, 3.0]);
    }
}

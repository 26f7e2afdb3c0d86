//! The cost model: what submitting, sleeping, waking, polling and interrupts cost on a machine.
//!
//! Calibration measures it with I/O in flight, the simulator uses it, and every run stores it.

use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A piecewise linear function through its corner points, constant outside them.
///
/// `x` is ascending, and `y` has the same length. A curve without points is 0 everywhere. The field
/// that holds the curve states the units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// x coordinates of the corner points, ascending.
    pub x: Vec<f64>,
    /// y coordinates of the corner points.
    pub y: Vec<f64>,
}

impl Curve {
    /// A curve with this value everywhere.
    pub fn constant(value: f64) -> Self {
        Curve {
            x: vec![0.0],
            y: vec![value],
        }
    }

    /// The value at `x`; 0 for an empty curve.
    #[inline]
    pub fn value_at(&self, x: f64) -> f64 {
        match self.y.as_slice() {
            [] => 0.0,
            [constant] => *constant,
            _ => self.interpolate(x),
        }
    }

    fn interpolate(&self, x: f64) -> f64 {
        let next = self.x.partition_point(|&corner| corner <= x);
        match (next.checked_sub(1), self.x.get(next)) {
            (None, _) => self.y.first().copied().unwrap_or(0.0),
            (Some(last), None) => self.y[last],
            (Some(i), Some(&next_x)) => {
                let share = (x - self.x[i]) / (next_x - self.x[i]);
                self.y[i] + share * (self.y[next] - self.y[i])
            }
        }
    }
}

/// How late a timer wakes its sleeper: `delay = base(x) + spread(x) * z`, limited to `least(x)` and
/// `most(x)`. There is one draw `z` per I/O, common to all configurations simulated on it. The
/// field that holds the delay says what `x` is. The limits matter to rules that use extremes:
/// without them, a minimum could find a draw that never happens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WakeDelay {
    /// Median delay, ns.
    pub base_ns: Curve,
    /// Scale of the deviation from the median, ns.
    pub spread_ns: Curve,
    /// Smallest delay, ns.
    pub least_ns: Curve,
    /// Largest delay, ns, without stalls of the whole machine; an empty curve means no limit.
    pub most_ns: Curve,
    /// Standardised deviations in the order of the measured I/Os. Late wake-ups come in bursts, and
    /// the minimum over a window differs between bursts and independent draws.
    pub z: Vec<f64>,
}

/// All costs of a simulated I/O on one machine, CPU, target and block size, all times in ns.
///
/// A sleep is *clear* if the completion comes after the wake-up and the lead, and *hit* if the
/// completion's interrupt comes earlier. In a hit sleep, interrupt and timer meet, on this CPU or
/// beside it; the closer they are, the later is the wake-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// Block size at which the costs were measured.
    pub bs: Bytes,
    /// Wall time of a submission, from just before the call to its return; median with polling.
    pub submit_ns: f64,
    /// From reaping to the next submission, median: the bookkeeping of the loop.
    pub turnaround_ns: f64,
    /// Delay of a clear wake-up; `x` is the sleep asked.
    pub wake_clear: WakeDelay,
    /// Delay of a hit wake-up; `x` is the sleep asked minus the device's latency, and may be
    /// negative.
    pub wake_hit: WakeDelay,
    /// The lead: how long before a poll could see it a completion disturbs the wake-up, because its
    /// interrupt runs on the sleeper's CPU or beside it. Never negative.
    pub hit_lead_ns: f64,
    /// From the wake-up to the reaping if the completion was already there.
    pub reap_hit_ns: f64,
    /// Thread CPU of a clear sleep (arming the timer, leaving the CPU, coming back), by the sleep
    /// asked.
    pub sleep_cpu_clear_ns: Curve,
    /// Thread CPU of a hit sleep, including the reaping, by the sleep asked.
    pub sleep_cpu_hit_ns: Curve,
    /// Time that a sleep without a miss adds to the device's latency, by the sleep asked; may be
    /// negative.
    pub added_latency_ns: Curve,
    /// Time that a sleep adds to the next submission, by the sleep asked; may be negative.
    pub added_submit_ns: Curve,
    /// Thread CPU of one interrupt-driven I/O, including the submission.
    pub interrupt_cpu_ns: f64,
    /// Latency (U2C) of an interrupt-driven I/O minus that of a polled one.
    pub interrupt_latency_ns: f64,
    /// Busy CPU time of the machine other than the thread's, per polled I/O.
    pub other_cpu_poll_ns: f64,
    /// Busy CPU time of the machine other than the thread's, per I/O that sleeps first.
    pub other_cpu_sleep_ns: f64,
    /// Busy CPU time of the machine other than the thread's, per interrupt-driven I/O.
    pub other_cpu_interrupt_ns: f64,
}

/// Wake-up delay in [`CostModel::published`], ns: that of the published simulators.
const PUBLISHED_DELAY_NS: f64 = 2_000.0;
/// A context switch and an interrupt, ns of CPU: 1.487 us and 1.076 us in EHP's calibration.
const PUBLISHED_SWITCH_NS: f64 = 1_487.0 + 1_076.0;
/// A submission, ns of CPU. With a switch and an interrupt, an interrupt-driven I/O takes 3.56 us;
/// published are 3.6 us for two of three devices.
const PUBLISHED_SUBMIT_NS: f64 = 1_000.0;
/// Latency that a sleep without a miss adds, ns: published are 0.29 to 0.48 us on three devices.
const PUBLISHED_ADDED_NS: f64 = 400.0;
/// Latency that an interrupt adds, ns: published are 1.7 to 2.1 us on three devices.
const PUBLISHED_INTERRUPT_NS: f64 = 2_000.0;
/// The largest time in a cost model, ns: 1000 s.
const MAX_NS: f64 = 1e12;
/// Most corner points of a curve, and draws of a delay. Calibrations have some thousands.
const MAX_POINTS: usize = 1 << 20;

impl CostModel {
    /// A machine on which every sleep ends `delay` late and nothing else costs time, as the
    /// published single-page simulators assume.
    pub fn delayed(delay: Nanos) -> Self {
        let late = || WakeDelay {
            base_ns: Curve::constant(delay.0 as f64),
            ..WakeDelay::default()
        };
        CostModel {
            wake_clear: late(),
            wake_hit: late(),
            ..CostModel::default()
        }
    }

    /// A machine as the published measurements describe it (DPAS, FAST'26, a Xeon Gold 6230 on
    /// Linux 5.18, and EHP): wake-ups are 2 us late, and a sleep and an interrupt cost a context
    /// switch and an interrupt handler each. Recordings bring their own submissions.
    pub fn published() -> Self {
        CostModel {
            submit_ns: PUBLISHED_SUBMIT_NS,
            sleep_cpu_clear_ns: Curve::constant(PUBLISHED_SWITCH_NS),
            sleep_cpu_hit_ns: Curve::constant(PUBLISHED_SWITCH_NS),
            added_latency_ns: Curve::constant(PUBLISHED_ADDED_NS),
            interrupt_cpu_ns: PUBLISHED_SUBMIT_NS + PUBLISHED_SWITCH_NS,
            interrupt_latency_ns: PUBLISHED_INTERRUPT_NS,
            ..CostModel::delayed(Nanos(PUBLISHED_DELAY_NS as u64))
        }
    }

    /// Checks that a machine can have these costs: with negative ones, simulated time would stand
    /// still or run backwards.
    ///
    /// # Errors
    /// Fails with the name of the first wrong cost, what was expected and what was found.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("submit_ns", self.submit_ns),
            ("turnaround_ns", self.turnaround_ns),
            ("hit_lead_ns", self.hit_lead_ns),
            ("reap_hit_ns", self.reap_hit_ns),
            ("interrupt_cpu_ns", self.interrupt_cpu_ns),
            ("interrupt_latency_ns", self.interrupt_latency_ns),
            ("other_cpu_poll_ns", self.other_cpu_poll_ns),
            ("other_cpu_sleep_ns", self.other_cpu_sleep_ns),
            ("other_cpu_interrupt_ns", self.other_cpu_interrupt_ns),
        ] {
            check_ns(name, value, 0.0)?;
        }
        for (name, curve, min) in [
            ("sleep_cpu_clear_ns", &self.sleep_cpu_clear_ns, 0.0),
            ("sleep_cpu_hit_ns", &self.sleep_cpu_hit_ns, 0.0),
            ("added_latency_ns", &self.added_latency_ns, -MAX_NS),
            ("added_submit_ns", &self.added_submit_ns, -MAX_NS),
        ] {
            curve.check(name, min)?;
        }
        self.wake_clear.check("wake_clear")?;
        self.wake_hit.check("wake_hit")
    }
}

/// Checks that a number is between `min` and [`MAX_NS`], both included.
fn check_ns(name: &str, value: f64, min: f64) -> Result<(), String> {
    if (min..=MAX_NS).contains(&value) {
        return Ok(());
    }
    let message = format!("{name}: expected {min} to {MAX_NS} ns, found {value}");
    Err(message)
}

impl Curve {
    fn check(&self, name: &str, min: f64) -> Result<(), String> {
        let (x_count, y_count) = (self.x.len(), self.y.len());
        if x_count != y_count || x_count > MAX_POINTS {
            return Err(format!(
                "{name}: expected up to {MAX_POINTS} points, found {x_count} x and {y_count} y"
            ));
        }
        let (mut xs, mut ys) = (self.x.iter(), self.y.iter());
        xs.try_for_each(|&x| check_ns(name, x, -MAX_NS))?;
        ys.try_for_each(|&y| check_ns(name, y, min))?;
        if self.x.is_sorted() {
            return Ok(());
        }
        Err(format!("{name}: expected x ascending, found others"))
    }
}

impl WakeDelay {
    fn check(&self, name: &str) -> Result<(), String> {
        let field_name = |field: &str| format!("{name}.{field}");
        self.base_ns.check(&field_name("base_ns"), -MAX_NS)?;
        self.spread_ns.check(&field_name("spread_ns"), 0.0)?;
        self.least_ns.check(&field_name("least_ns"), -MAX_NS)?;
        self.most_ns.check(&field_name("most_ns"), -MAX_NS)?;
        let draws = self.z.len();
        if draws > MAX_POINTS {
            let message = format!("{name}.z: expected up to {MAX_POINTS} draws, found {draws}");
            return Err(message);
        }
        let z = field_name("z");
        let mut draws = self.z.iter();
        draws.try_for_each(|&draw| check_ns(&z, draw, -MAX_NS))
    }

    /// The delay at `x` for the draw `z`, ns.
    pub fn delay_at(&self, x: f64, z: f64) -> f64 {
        let (min, max) = self.bounds(x);
        let delay = self.base_ns.value_at(x) + self.spread_ns.value_at(x) * z;
        delay.min(max).max(min)
    }

    /// Smallest and largest delay at `x`, ns. The largest is infinite if `most_ns` is empty.
    pub fn bounds(&self, x: f64) -> (f64, f64) {
        let max = Some(&self.most_ns).filter(|max| !max.x.is_empty());
        let max = max.map_or(f64::INFINITY, |max| max.value_at(x));
        (self.least_ns.value_at(x).max(0.0), max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published are 2.76 us of CPU per interrupt-driven I/O on one device and 3.6 us on two,
    /// including submissions (DPAS, FAST'26, from IOPS and CPU with one thread).
    #[test]
    fn the_published_machine_is_one() {
        let machine = CostModel::published();
        assert_eq!(machine.check(), Ok(()));
        let interrupt_us = machine.interrupt_cpu_ns / 1e3;
        assert!((2.76..=3.6).contains(&interrupt_us), "{interrupt_us}");
        assert_eq!(machine.wake_clear, machine.wake_hit);
    }

    #[test]
    fn a_curve_joins_its_points_and_is_flat_outside() {
        let curve = Curve {
            x: vec![10.0, 20.0],
            y: vec![1.0, 3.0],
        };
        let values = [0.0, 10.0, 15.0, 20.0, 99.0].map(|x| curve.value_at(x));
        assert_eq!(values, [1.0, 1.0, 2.0, 3.0, 3.0]);
    }
}

//! The costs of a sleep in the kernel, from stretches with fixed sleeps under the user's load.
//!
//! A sleep that is longer than nearly every latency shows how late the kernel looks again: the
//! request is complete at the first look, so its D2C less the sleep asked is the lateness. Shorter
//! sleeps show how the delay changes with the length, and what a sleep costs in CPU time. In both,
//! the lateness counts from the hand-over to the driver, so it contains the time until the sleep
//! begins. Medium sleeps miss some requests; their miss rate shows how fast the device is while the
//! CPU sleeps until about the completion.

use super::rig::{Rig, Stretch};
use super::tune::TuneKernelSpec;
use q2c_model::stats::{Shape, mean, median, percentile, sorted};
use q2c_model::{Bytes, CostModel, Curve, Fault, Nanos, WakeDelay};
use q2c_policy::{KernelSleep, Method};
use q2c_result::kernel_tune::KernelPoint;

/// Sleeps that end before most completions, as shares of the latencies' 10th percentile.
const SHORTER_SLEEPS: [f64; 5] = [0.3, 0.6, 0.8, 0.9, 1.0];
/// Length of the sleep that outlives nearly every request, as a multiple of the 90th percentile. A
/// much longer sleep would end later than the sleeps of rules, because CPUs sleep deeper in it.
const OUTLIVING_SLEEP: f64 = 1.25;
/// Requests that a stretch should have at least.
const WANTED_REQUESTS: f64 = 250.0;
/// Largest miss rate at which a point's sleeps count as clear.
const MAX_CLEAR_MISS_RATE: f64 = 0.10;
/// Up to this miss rate, a point that is not clear shows how fast the device is.
const MAX_PARTIAL_MISS_RATE: f64 = 0.90;
/// Bisection steps that find the device's time: they leave 2^-40 of the range.
const HALVINGS: u32 = 40;
/// Time before a stretch counts.
const SETTLE: Nanos = Nanos::from_millis(100);
/// Lateness is clamped at these percentiles. Above the second lie requests that took longer than
/// their sleep, and stalls of the machine, which the recordings contain already.
const CLAMP_PERCENTILES: [f64; 2] = [0.005, 0.95];
/// Deviations that are stored: consecutive ones, so that bursts stay bursts.
const MAX_DEVIATIONS: usize = 2_048;

pub(crate) struct Calibrated {
    pub points: Vec<KernelPoint>,
    pub cost: CostModel,
}

struct KernelSleepPoint {
    asked_ns: f64,
    slept: Stretch,
    cost: RequestCost,
    /// Means of classic polling before and after the sleeps.
    classic: RequestCost,
    /// D2C of classic polling before and after the sleeps, ns, ascending.
    classic_d2c_ns: Vec<f64>,
}

/// CPU and time of one request in a stretch, ns.
#[derive(Clone, Copy)]
struct RequestCost {
    cpu: f64,
    /// Busy CPU of the machine beyond that of the threads.
    other_cpu: f64,
    mean_d2c: f64,
    p50_d2c: f64,
}

impl RequestCost {
    fn from_stretch(stretch: &Stretch) -> Self {
        let (total, d2c_ns) = (&stretch.total, stretch.d2c_ns());
        let iops = total.rates.iops.unwrap_or(f64::NAN);
        let threads = total.threads.max(1) as f64;
        let cpus = total.rates.cpu_pct.unwrap_or(100.0) / 100.0 * threads;
        let other_cpus = total.busy_cpus.map_or(0.0, |busy| (busy - cpus).max(0.0));
        RequestCost {
            cpu: cpus / iops * 1e9,
            other_cpu: other_cpus / iops * 1e9,
            mean_d2c: mean(&d2c_ns),
            p50_d2c: median(&sorted(&d2c_ns)),
        }
    }

    fn between([a, b]: [RequestCost; 2]) -> Self {
        let middle = |value: fn(&RequestCost) -> f64| f64::midpoint(value(&a), value(&b));
        RequestCost {
            cpu: middle(|c| c.cpu),
            other_cpu: middle(|c| c.other_cpu),
            mean_d2c: middle(|c| c.mean_d2c),
            p50_d2c: middle(|c| c.p50_d2c),
        }
    }
}

/// Measures the points. `classic_d2c` are the D2C under classic polling, ns.
pub(crate) fn calibrate(
    rig: &mut Rig<'_>,
    spec: &TuneKernelSpec,
    classic_d2c: &[f64],
) -> Result<Calibrated, Fault> {
    let min_length = Nanos((median(&sorted(classic_d2c)) * WANTED_REQUESTS) as u64);
    let length = spec.calibrate.max(min_length);
    let mut stretch = |method: &Method| rig.stretch(method, SETTLE, length, (1, "calibrating"));
    let mut before = stretch(&Method::POLL)?;
    let mut points = Vec::new();
    for asked_us in sleeps_us(classic_d2c) {
        let slept = stretch(&Method::HybridKernel(KernelSleep::Fixed(asked_us)))?;
        let after = stretch(&Method::POLL)?;
        points.push(KernelSleepPoint::new(asked_us, slept, [&before, &after]));
        before = after;
    }
    Ok(Calibrated {
        cost: fit(&points),
        points: points.iter().map(KernelSleepPoint::summary).collect(),
    })
}

/// The sleeps in whole microseconds, ascending; the last one outlives nearly every request.
fn sleeps_us(classic_d2c: &[f64]) -> Vec<u32> {
    let d2c_ns = sorted(classic_d2c);
    let p10 = percentile(&d2c_ns, 0.1);
    let shorter = SHORTER_SLEEPS.iter().map(|share| p10 * share);
    let sleeps_ns = shorter.chain([percentile(&d2c_ns, 0.9) * OUTLIVING_SLEEP]);
    let whole_us = |ns| KernelSleep::whole_us(Nanos(ns as u64));
    let mut sleeps_us: Vec<u32> = sleeps_ns.map(whole_us).collect();
    sleeps_us.dedup();
    sleeps_us
}

impl KernelSleepPoint {
    /// A sleep of `asked_us`, with classic polling before and after it.
    fn new(asked_us: u32, slept: Stretch, beside: [&Stretch; 2]) -> KernelSleepPoint {
        KernelSleepPoint {
            asked_ns: f64::from(asked_us) * 1e3,
            cost: RequestCost::from_stretch(&slept),
            classic: RequestCost::between(beside.map(RequestCost::from_stretch)),
            classic_d2c_ns: sorted(&beside.map(Stretch::d2c_ns).concat()),
            slept,
        }
    }

    /// The time by which the device is slower than under classic polling, found from the miss rate.
    /// `looks` are the times from the hand-over to the look, ns.
    fn added_ns_by_misses(&self, looks: &[f64]) -> f64 {
        let miss_rate = |added: f64| {
            let below = |look: &f64| self.classic_d2c_ns.partition_point(|d| d + added <= *look);
            let complete: usize = looks.iter().map(below).sum();
            complete as f64 / (looks.len() * self.classic_d2c_ns.len()) as f64
        };
        let longest = self.classic_d2c_ns.last().copied().unwrap_or(0.0);
        let (mut low, mut high) = (-longest, self.asked_ns + longest);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let is_too_low = miss_rate(middle) > self.miss_rate();
            *(if is_too_low { &mut low } else { &mut high }) = middle;
        }
        f64::midpoint(low, high)
    }

    fn miss_rate(&self) -> f64 {
        self.slept.total.rates.miss_rate.unwrap_or(0.0)
    }

    fn delay_ns(&self) -> f64 {
        let slept = self.slept.total.slept_ns.unwrap_or(self.asked_ns);
        (slept - self.asked_ns).max(0.0)
    }

    /// D2C less the sleep asked, ns, in the order of completion.
    fn lateness(&self) -> Vec<f64> {
        let d2c_ns = self.slept.d2c_ns().into_iter();
        d2c_ns.map(|d2c| d2c - self.asked_ns).collect()
    }

    fn summary(&self) -> KernelPoint {
        let lateness = sorted(&self.lateness());
        KernelPoint {
            asked_ns: self.asked_ns,
            ios: self.slept.total.polled,
            miss_rate: self.miss_rate(),
            delay_ns: self.delay_ns(),
            late_p50_ns: percentile(&lateness, 0.5),
            late_p99_ns: percentile(&lateness, 0.99),
            cpu_ns: self.cost.cpu,
        }
    }
}

/// The cost model. The last point is the one that outlives nearly every request.
fn fit(points: &[KernelSleepPoint]) -> CostModel {
    let Some((outliving, shorter)) = points.split_last() else {
        return CostModel::delayed(Nanos::ZERO);
    };
    let is_clear = |point: &&KernelSleepPoint| point.miss_rate() <= MAX_CLEAR_MISS_RATE;
    let late = lateness_shape(outliving);
    // The lateness less the probe's delay: the time from the hand-over to the begin of the sleep,
    // and the look itself. It does not depend on the sleep's length.
    let overhead = mean(&outliving.lateness()) - outliving.delay_ns();
    // Under classic polling, the CPU less D2C is the cost of the work beside polling.
    let sleep_cpu_clear = |point: &KernelSleepPoint| {
        let (classic, slept) = (point.classic, point.cost);
        let polled = (slept.mean_d2c - point.asked_ns - point.delay_ns() - overhead).max(0.0);
        let cost = slept.cpu - (classic.cpu - classic.mean_d2c) - polled;
        (point.asked_ns, cost.max(0.0))
    };
    let classic = outliving.classic;
    let sleep_cpu_hit = (outliving.cost.cpu - (classic.cpu - classic.mean_d2c)).max(0.0);
    let mean_of =
        |value: fn(&KernelSleepPoint) -> f64| mean(&points.iter().map(value).collect::<Vec<_>>());
    let base = |point: &KernelSleepPoint| late.median + point.delay_ns() - outliving.delay_ns();
    let bases = shorter.iter().map(|p| (p.asked_ns, base(p)));
    let bases = bases.chain([(outliving.asked_ns, late.median)]).collect();
    let wake_clear = wake_delay(&late, curve(bases));
    // The device may be faster or slower while the CPU sleeps, the more so the longer it does.
    let added = |point: &KernelSleepPoint| match point.miss_rate() {
        rate if rate <= MAX_CLEAR_MISS_RATE => Some(point.cost.p50_d2c - point.classic.p50_d2c),
        rate if rate <= MAX_PARTIAL_MISS_RATE => {
            let look = |z: &f64| point.asked_ns + wake_clear.delay_at(point.asked_ns, *z);
            let looks: Vec<f64> = wake_clear.z.iter().map(look).collect();
            Some(point.added_ns_by_misses(&looks))
        }
        _ => None,
    };
    let added = shorter.iter().filter_map(|p| Some((p.asked_ns, added(p)?)));
    let added_latency_ns = curve(added.collect());
    let clear = shorter.iter().filter(is_clear);
    let clear_cpu: Vec<(f64, f64)> = clear.map(sleep_cpu_clear).collect();
    CostModel {
        bs: Bytes(0),
        wake_clear,
        wake_hit: wake_delay(&late, Curve::constant(late.median)),
        sleep_cpu_clear_ns: if clear_cpu.is_empty() {
            Curve::constant(sleep_cpu_hit)
        } else {
            curve(clear_cpu)
        },
        sleep_cpu_hit_ns: Curve::constant(sleep_cpu_hit),
        added_latency_ns,
        other_cpu_poll_ns: mean_of(|p| p.classic.other_cpu),
        other_cpu_sleep_ns: mean_of(|p| p.cost.other_cpu),
        ..CostModel::delayed(Nanos::ZERO)
    }
}

fn curve(points: Vec<(f64, f64)>) -> Curve {
    let (x, y) = points.into_iter().unzip();
    Curve { x, y }
}

fn lateness_shape(outliving: &KernelSleepPoint) -> Shape {
    let lateness = outliving.lateness().into_iter();
    let late: Vec<f64> = lateness.filter(|&ns| ns >= 0.0).collect();
    Shape::from_values(&late, CLAMP_PERCENTILES, MAX_DEVIATIONS)
}

/// A delay with this median curve. The bounds of the lateness move with the curve.
fn wake_delay(late: &Shape, base: Curve) -> WakeDelay {
    let moved_base = |bound: f64| {
        let y = base.y.iter().map(|y| (y + bound - late.median).max(0.0));
        let (x, y) = (base.x.clone(), y.collect());
        Curve { x, y }
    };
    WakeDelay {
        least_ns: moved_base(late.min),
        most_ns: moved_base(late.max),
        base_ns: base,
        spread_ns: Curve::constant(late.spread),
        z: late.z.clone(),
    }
}

#[cfg(test)]
mod tests;

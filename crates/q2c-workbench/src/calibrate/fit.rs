//! Fits the cost model to the points of a calibration.

use super::point::{FixedSleepPoint, InterruptCosts};
use q2c_model::stats::{Shape, mean, median, sorted};
use q2c_model::{Bytes, CostModel, Curve, WakeDelay};

/// Fewest I/Os for a statistic.
const MIN_IOS: usize = 30;
/// A point counts as clear if at most this share of its I/Os missed.
const MAX_CLEAR_MISSES: f64 = 0.10;
/// A point counts as hit if at least this share of its I/Os missed.
const MIN_HIT_MISSES: f64 = 0.90;
/// Deviations stored for each point, from the middle of its I/Os, so that all weigh the same.
const MAX_DEVIATIONS: usize = 128;
/// Delays are clamped at these percentiles, since recordings already contain the machine's stalls.
const CLAMP_PERCENTILES: [f64; 2] = [0.005, 0.995];

/// The cost model at `bs`. `shared` holds the points of a larger block size. They give the cost of
/// a clear sleep if this block size is too fast for one.
pub(super) fn fit(
    bs: Bytes,
    points: &[FixedSleepPoint],
    shared: &[FixedSleepPoint],
    interrupt: &InterruptCosts,
) -> CostModel {
    let point_refs: Vec<&FixedSleepPoint> = points.iter().collect();
    let clear = clear_points(points, shared);
    let own_clear: Vec<&FixedSleepPoint> = points.iter().filter(|p| is_clear(p)).collect();
    let hit: Vec<&FixedSleepPoint> = points.iter().filter(|p| p.hit.len() >= MIN_IOS).collect();
    let missed = points.iter().filter(|p| p.miss_rate >= MIN_HIT_MISSES);
    let missed: Vec<&FixedSleepPoint> = missed.collect();
    // The few hit I/Os of a clear point count too, as the tail of its delays.
    let wake_clear = wake_delay(&clear, |p| p.asked, |_| true);
    // A single value, because drift between slices moves the points more than the sleep does.
    let added_latency_ns = Curve::constant(median_of(&own_clear, |p| Some(p.added_latency)));
    let submit_ns = median_of(&point_refs, |p| Some(p.poll.submit));
    let hit_lead_ns = hit_lead(&point_refs, &wake_clear, &added_latency_ns);
    CostModel {
        bs,
        submit_ns,
        turnaround_ns: median_of(&point_refs, |p| Some(p.poll.gap)),
        wake_hit: wake_hit(&hit, &wake_clear, hit_lead_ns),
        hit_lead_ns,
        reap_hit_ns: median_of(&hit, |p| Some(p.reap_hit)),
        sleep_cpu_clear_ns: sleep_cpu(&clear),
        // A hit sleep costs as a clear one if no point counts as hit.
        sleep_cpu_hit_ns: sleep_cpu(if missed.is_empty() { &clear } else { &missed }),
        added_latency_ns,
        added_submit_ns: fit_line(&point_refs, |p| p.submit_p50 - p.poll.submit),
        interrupt_cpu_ns: interrupt.cpu,
        // No cost can be negative. A value below 0 comes from drift, or from a load that ended.
        interrupt_latency_ns: interrupt.latency.max(0.0),
        other_cpu_poll_ns: median_of(&point_refs, |p| p.other_cpu_poll).max(0.0),
        other_cpu_sleep_ns: median_of(&point_refs, |p| p.other_cpu).max(0.0),
        other_cpu_interrupt_ns: interrupt.other_cpu.unwrap_or(0.0).max(0.0),
        wake_clear,
    }
}

fn is_clear(point: &FixedSleepPoint) -> bool {
    point.miss_rate <= MAX_CLEAR_MISSES && point.clear.len() >= MIN_IOS
}

/// The clear points of this block size and `shared`; without any, all points with enough I/Os.
fn clear_points<'a>(
    points: &'a [FixedSleepPoint],
    shared: &'a [FixedSleepPoint],
) -> Vec<&'a FixedSleepPoint> {
    let points = || shared.iter().chain(points);
    let clear: Vec<&FixedSleepPoint> = points().filter(|p| is_clear(p)).collect();
    if !clear.is_empty() {
        return clear;
    }
    points().filter(|p| p.ios as usize >= MIN_IOS).collect()
}

/// Wake delays of one point, ns. `counts` selects I/Os by whether they were hit.
fn delays(point: &FixedSleepPoint, counts: impl Fn(bool) -> bool) -> Shape {
    let counted = point.ordered.iter().filter(|(_, hit)| counts(*hit));
    let ordered: Vec<f64> = counted.map(|(delay, _)| *delay).collect();
    Shape::from_values(&ordered, CLAMP_PERCENTILES, MAX_DEVIATIONS)
}

/// Curves of a wake delay over `x`; `counts` selects I/Os as in [`delays`].
fn wake_delay(
    points: &[&FixedSleepPoint],
    x: impl Fn(&FixedSleepPoint) -> f64,
    counts: impl Fn(bool) -> bool + Copy,
) -> WakeDelay {
    let shapes: Vec<(f64, Shape)> = points.iter().map(|p| (x(p), delays(p, counts))).collect();
    let over = |value: fn(&Shape) -> f64| curve(shapes.iter().map(|(x, d)| (*x, value(d))));
    WakeDelay {
        base_ns: over(|d| d.median),
        spread_ns: over(|d| d.spread),
        least_ns: over(|d| d.min),
        most_ns: over(|d| d.max),
        z: shapes.iter().flat_map(|(_, d)| d.z.clone()).collect(),
    }
}

/// Leads to try, in steps of [`LEAD_STEP_NS`].
const LEAD_STEPS: std::ops::RangeInclusive<i32> = 0..=80;
const LEAD_STEP_NS: f64 = 1_000.0;

/// The lead, ns, that explains the measured miss rates best, by least squares over all points.
fn hit_lead(points: &[&FixedSleepPoint], clear: &WakeDelay, added: &Curve) -> f64 {
    let predicted = |p: &FixedSleepPoint, lead: f64| {
        let end = |z: f64| p.asked + clear.delay_at(p.asked, z) + lead - added.value_at(p.asked);
        let hit_shares = clear.z.iter().map(|&z| p.poll.share_below(end(z)));
        mean(&hit_shares.collect::<Vec<_>>())
    };
    let misfit = |lead: f64| {
        let errors = points.iter().map(|p| predicted(p, lead) - p.miss_rate);
        errors.map(|error| error.powi(2)).sum::<f64>()
    };
    let leads = LEAD_STEPS.map(|step| f64::from(step) * LEAD_STEP_NS);
    let misfits = leads.map(|lead| (misfit(lead), lead));
    let best = misfits.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.map_or(0.0, |(_, lead)| lead)
}

/// The delay of a hit wake-up over the sleep asked less the latency. A hit sleep's own latency is
/// unknown, so the mean over those I/Os of the polling beside it that it would have hit is used.
fn wake_hit(points: &[&FixedSleepPoint], clear: &WakeDelay, lead: f64) -> WakeDelay {
    if points.is_empty() {
        return clear.clone();
    }
    let hit_wait = |p: &FixedSleepPoint| {
        let woke = p.asked + clear.base_ns.value_at(p.asked) + lead;
        let mean = p.poll.mean_wait_below(woke);
        mean.unwrap_or_else(|| p.poll.wait(0.05))
    };
    wake_delay(points, |p| p.asked - hit_wait(p), |hit| hit)
}

/// Thread CPU of a sleep.
fn sleep_cpu(points: &[&FixedSleepPoint]) -> Curve {
    curve(points.iter().map(|p| (p.asked, p.sleep_cpu.max(0.0))))
}

/// A curve through points in any order. Points with equal x are averaged, non-finite ones removed.
fn curve(points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let mut points: Vec<(f64, f64)> = points.filter(finite).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let join = |group: &[(f64, f64)]| {
        let values: Vec<f64> = group.iter().map(|p| p.1).collect();
        (group[0].0, mean(&values))
    };
    let (x, y) = points.chunk_by(|a, b| a.0 == b.0).map(join).unzip();
    Curve { x, y }
}

/// The straight line through a value over the sleep, by Theil (1950) and Sen (1968). The slope is
/// the median slope of all pairs, the offset the median remainder. The device's drift hides any
/// other shape.
fn fit_line(points: &[&FixedSleepPoint], value: impl Fn(&FixedSleepPoint) -> f64) -> Curve {
    let values: Vec<(f64, f64)> = points.iter().map(|p| (p.asked, value(p))).collect();
    let mut slopes = Vec::new();
    for (i, a) in values.iter().enumerate() {
        slopes.extend(values[i + 1..].iter().map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    let slope = median(&sorted(&slopes));
    let offsets: Vec<f64> = values.iter().map(|(x, y)| y - slope * x).collect();
    let offset = median(&sorted(&offsets));
    curve(values.iter().map(|(x, _)| (*x, offset + slope * x)))
}

/// The median over the points that have the value; 0 if none has it.
fn median_of(points: &[&FixedSleepPoint], value: impl Fn(&FixedSleepPoint) -> Option<f64>) -> f64 {
    let values: Vec<f64> = points.iter().filter_map(|p| value(p)).collect();
    median(&sorted(&values))
}

#[cfg(test)]
mod tests {
    use super::super::point::PollingFigures;
    use super::*;

    #[test]
    fn a_curve_takes_points_in_any_order_and_joins_equals() {
        let curve = curve([(3.0, 1.0), (1.0, 5.0), (3.0, 3.0), (2.0, f64::NAN)].into_iter());
        assert_eq!((curve.x, curve.y), (vec![1.0, 3.0], vec![5.0, 2.0]));
    }

    /// The value is 1 us plus a tenth of the sleep, except for one of eight points, off by 30 us.
    #[test]
    fn a_line_stands_against_one_bad_point() {
        let point = |n: u32| FixedSleepPoint {
            asked: f64::from(n) * 10_000.0,
            submit_p50: 1_000.0 + f64::from(n) * 1_000.0 + if n == 5 { 30_000.0 } else { 0.0 },
            ..FixedSleepPoint::default()
        };
        let points: Vec<FixedSleepPoint> = (1..=8).map(point).collect();
        let line = fit_line(&points.iter().collect::<Vec<_>>(), |p| p.submit_p50);
        assert!((line.value_at(40_000.0) - 5_000.0).abs() < 1e-6, "{line:?}");
        assert!((line.value_at(80_000.0) - 9_000.0).abs() < 1e-6, "{line:?}");
    }

    /// Wake-ups come 10 us after the sleep asked; completions come 15 us before they are seen.
    #[test]
    fn the_lead_explains_the_misses() {
        let waits: Vec<f64> = (0..=200).map(|n| 40_000.0 + 100.0 * f64::from(n)).collect();
        let point = |asked: f64| {
            let missed = waits.iter().filter(|&&w| w - 15_000.0 <= asked + 10_000.0);
            let missed = missed.count();
            let poll = PollingFigures {
                waits: waits.clone(),
                ..PollingFigures::default()
            };
            FixedSleepPoint {
                asked,
                miss_rate: missed as f64 / waits.len() as f64,
                poll,
                ..FixedSleepPoint::default()
            }
        };
        let points: Vec<FixedSleepPoint> =
            [15_000.0, 20_000.0, 25_000.0, 30_000.0].map(point).to_vec();
        let clear = WakeDelay {
            base_ns: Curve::constant(10_000.0),
            z: vec![0.0],
            ..WakeDelay::default()
        };
        let points: Vec<&FixedSleepPoint> = points.iter().collect();
        assert_eq!(hit_lead(&points, &clear, &Curve::default()), 15_000.0);
    }

    /// 1000 delays fall by 1 us at I/O 500, which is within the 128 stored ones in the middle.
    #[test]
    fn deviations_keep_their_order() {
        let ordered = (0..1000).map(|n| (if n < 500 { 21_000.0 } else { 20_000.0 }, n % 2 == 0));
        let point = FixedSleepPoint {
            ordered: ordered.collect(),
            ..FixedSleepPoint::default()
        };
        let every_other = |hit| hit;
        for z in [delays(&point, |_| true).z, delays(&point, every_other).z] {
            assert_eq!(z.len(), MAX_DEVIATIONS);
            assert!(z[..64].iter().all(|&v| v == z[0]) && z[64..].iter().all(|&v| v < z[0]));
        }
    }

    /// A wake delay of 10 us plus a tenth of the sleep, and 5 us of CPU per sleep.
    #[test]
    fn known_costs_are_found_again() {
        let point = |asked: f64| {
            let delay = 10_000.0 + asked / 10.0;
            FixedSleepPoint {
                asked,
                ios: 64,
                clear: vec![delay; 64],
                ordered: vec![(delay, false); 64],
                sleep_cpu: 5_000.0,
                ..FixedSleepPoint::default()
            }
        };
        let points: Vec<FixedSleepPoint> = [1_000.0, 20_000.0, 50_000.0].map(point).to_vec();
        let cost = fit(Bytes(4096), &points, &[], &InterruptCosts::default());
        assert_eq!(cost.wake_clear.base_ns.value_at(35_000.0), 13_500.0);
        assert_eq!(cost.sleep_cpu_clear_ns.value_at(30_000.0), 5_000.0);
        let wake = cost.wake_clear;
        assert_eq!(wake.delay_at(20_000.0, wake.z[0]), 12_000.0);
    }
}

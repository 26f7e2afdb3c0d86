//! The cost model as the batch kernels read it: functions of a sleep's length with shared corner
//! points.

use super::lines::{HitLines, SleepLines};
use q2c_model::{CostModel, Curve, WakeDelay};

/// Curves with common corner points, so that one search finds all lines. `value` and `slope` have
/// one row more than `x`: row 0 is below the first corner, row `i + 1` begins at corner `i`.
#[derive(Clone, Debug)]
pub(super) struct JointCurves<const N: usize> {
    pub x: Vec<f64>,
    pub value: Vec<[f64; N]>,
    pub slope: Vec<[f64; N]>,
}

impl<const N: usize> JointCurves<N> {
    fn new(curves: [&Curve; N]) -> Self {
        let mut x: Vec<f64> = curves.iter().flat_map(|c| c.x.clone()).collect();
        x.sort_by(f64::total_cmp);
        x.dedup();
        // Constant curves need no corners: `plain` recognises them by the number of rows.
        if curves.iter().all(|c| c.y.iter().all(|&y| y == c.y[0])) {
            x.clear();
        }
        let start = x.first().copied().unwrap_or(0.0);
        let row = |x: f64| curves.map(|c| c.value_at(x));
        let value = std::iter::once(start).chain(x.iter().copied()).map(row);
        let slope_after = |i: usize| {
            let Some(&next) = x.get(i + 1) else {
                return [0.0; N];
            };
            curves.map(|c| (c.value_at(next) - c.value_at(x[i])) / (next - x[i]))
        };
        JointCurves {
            value: value.collect(),
            slope: std::iter::once([0.0; N])
                .chain((0..x.len()).map(slope_after))
                .collect(),
            x,
        }
    }
}

/// Base-2 logarithm of the width of a [`Lookup`] cell, ns: a cell is 1024 ns wide.
const CELL_BITS: u32 = 10;

/// A [`JointCurves`] for whole abscissae from 0, in single precision. A table gives the row in
/// which each cell begins, and a short search goes on from there.
#[derive(Clone, Debug)]
pub(super) struct Lookup<const N: usize> {
    rows: Vec<u8>,
    ends: Vec<f64>,
    lines: Vec<CostLine<N>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CostLine<const N: usize> {
    start: f64,
    pub value: [f32; N],
    pub slope: [f32; N],
}

impl<const N: usize> Lookup<N> {
    fn new(joint: &JointCurves<N>) -> Option<Self> {
        let row = |x: f64| u8::try_from(joint.x.partition_point(|&corner| corner <= x)).ok();
        let cells = 1 + (joint.x.last().map_or(0.0, |x| x.max(0.0)) as usize >> CELL_BITS);
        let rows = (0..=cells.min(1 << 20)).map(|cell| row((cell << CELL_BITS) as f64));
        let narrow = |row: &[f64; N]| row.map(|v| v as f32);
        let starts = [0.0].into_iter().chain(joint.x.iter().copied());
        let lines = starts.zip(joint.value.iter().zip(&joint.slope));
        Some(Lookup {
            rows: rows.collect::<Option<_>>()?,
            ends: joint.x.iter().copied().chain([f64::INFINITY]).collect(),
            lines: lines
                .map(|(start, (value, slope))| CostLine {
                    start,
                    value: narrow(value),
                    slope: narrow(slope),
                })
                .collect(),
        })
    }

    /// Returns the line that holds at `x`, and the distance from the start of that line to `x`.
    #[inline(always)]
    pub(crate) fn line(&self, x: i32) -> (&CostLine<N>, f32) {
        let cell = (x as usize >> CELL_BITS).min(self.rows.len() - 1);
        let mut row = usize::from(self.rows[cell]);
        let x = f64::from(x);
        while x >= self.ends[row] {
            row += 1;
        }
        let line = &self.lines[row];
        (line, (x - line.start) as f32)
    }
}

/// Stands for "no upper bound", ns: more than any time that a lane can hold.
const NO_BOUND: f64 = 1e9;

#[derive(Clone, Debug)]
pub(crate) struct CostTables {
    /// Functions of the sleep asked, ns: base, spread, least and most of the clear delay; CPU of a
    /// clear and of a hit sleep; added latency and submission time.
    pub(super) sleep: Lookup<8>,
    pub(super) sleeps: Option<SleepLines<8>>,
    pub(super) hit: HitLines,
    pub(super) plain: Option<PlainCosts>,
    /// True if a sleep may make an I/O faster; only then late times are summed separately.
    pub(super) gains: bool,
    /// Time by which a completion's interrupt runs before a poll would see it, ns: the lead.
    pub(super) lead: i32,
    /// From the wake-up to the reaping after a hit sleep, ns.
    pub(super) reap: i32,
    pub(super) interrupt_latency: i32,
    /// CPU of an interrupt-driven I/O with its submission, ns.
    pub(super) interrupt_cpu: i32,
    /// CPU of a polled I/O outside its thread, ns; not rounded, as in `simulate`.
    pub(super) other_poll: f64,
    /// The same CPU for an I/O that sleeps first, ns.
    pub(super) other_sleep: f64,
    pub(super) other_interrupt: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PlainCosts {
    /// Delay of a clear wake-up, from the end of the sleep asked, ns.
    pub wake: i32,
    /// Time from the end of the sleep asked to the reaping of an I/O complete by then, ns.
    pub hit: i32,
    pub cpu_clear: i32,
    pub cpu_hit: i32,
}

impl CostTables {
    /// Returns `None` if the cost model has too many corner points.
    pub(crate) fn new(cost: &CostModel) -> Option<Self> {
        let unbounded = Curve::constant(NO_BOUND);
        let (clear, hit) = (&cost.wake_clear, &cost.wake_hit);
        let [clear_most, hit_most] = [&clear.most_ns, &hit.most_ns]
            .map(|most| if most.x.is_empty() { &unbounded } else { most });
        let sleep = JointCurves::new([
            &clear.base_ns,
            &clear.spread_ns,
            &clear.least_ns,
            clear_most,
            &cost.sleep_cpu_clear_ns,
            &cost.sleep_cpu_hit_ns,
            &cost.added_latency_ns,
            &cost.added_submit_ns,
        ]);
        let hit = JointCurves::new([&hit.base_ns, &hit.spread_ns, &hit.least_ns, hit_most]);
        let is_negative = |curve: &Curve| curve.y.iter().any(|&y| y < 0.0);
        let mut costs = CostTables {
            plain: None,
            sleep: Lookup::new(&sleep)?,
            sleeps: SleepLines::new(&sleep),
            hit: HitLines::new(&hit)?,
            gains: cost.reap_hit_ns < 0.0
                || is_negative(&cost.added_latency_ns)
                || is_negative(&cost.added_submit_ns),
            lead: round_ns(cost.hit_lead_ns),
            reap: round_ns(cost.reap_hit_ns),
            interrupt_latency: round_ns(cost.interrupt_latency_ns),
            interrupt_cpu: round_ns(cost.interrupt_cpu_ns),
            other_poll: cost.other_cpu_poll_ns,
            other_sleep: cost.other_cpu_sleep_ns,
            other_interrupt: cost.other_cpu_interrupt_ns,
        };
        costs.plain = costs.plain_costs(cost, &hit);
        Some(costs)
    }

    /// Returns costs if delays are not drawn, and a sleep adds nothing to latency or submission.
    fn plain_costs(&self, cost: &CostModel, hit: &JointCurves<4>) -> Option<PlainCosts> {
        let is_zero = |curve: &Curve| curve.y.iter().all(|&y| y == 0.0);
        let is_fixed =
            |wake: &WakeDelay| is_zero(&wake.spread_ns) || wake.z.iter().all(|&z| z == 0.0);
        let is_plain = is_fixed(&cost.wake_clear)
            && is_fixed(&cost.wake_hit)
            && hit.x.is_empty()
            && self.sleep.ends.len() == 1
            && is_zero(&cost.added_latency_ns)
            && is_zero(&cost.added_submit_ns)
            && self.reap >= 0;
        let delay = |[base, _, least, most]: [f64; 4]| base.min(most).max(least.max(0.0));
        let [base, spread, least, most, cpu_clear, cpu_hit, ..] =
            self.sleep.line(0).0.value.map(f64::from);
        is_plain.then(|| PlainCosts {
            wake: round_ns(delay([base, spread, least, most])),
            hit: round_ns(delay(hit.value[0])) + self.reap,
            cpu_clear: round_ns(cpu_clear),
            cpu_hit: round_ns(cpu_hit),
        })
    }
}

/// Rounds to the nearest whole nanosecond, halves up.
pub(super) fn round_ns(ns: f64) -> i32 {
    let shifted = ns + 0.5;
    let truncated = shifted as i32;
    // `floor` would become a library call without the machine's instruction for it.
    truncated - i32::from(f64::from(truncated) > shifted)
}

//! What a sleep costs, as functions of its length with common corner points.

use super::sleeps::Sleeps;
use q2c_model::{CostModel, Curve};

/// Several curves over the same abscissa: one search for all of them.
#[derive(Clone, Debug)]
pub(super) struct Joint<const N: usize> {
    /// Corner points of all curves together, ascending.
    pub x: Vec<f64>,
    /// Values at the corner below; the first row is for what lies below all corners.
    pub value: Vec<[f64; N]>,
    /// Slopes from there.
    pub slope: Vec<[f64; N]>,
}

impl<const N: usize> Joint<N> {
    fn new(curves: [&Curve; N]) -> Self {
        let mut x: Vec<f64> = curves.iter().flat_map(|c| c.x.clone()).collect();
        x.sort_by(f64::total_cmp);
        x.dedup();
        // A flat function needs no corner.
        if curves.iter().all(|c| flat(c)) {
            x.clear();
        }
        let from = x.first().copied().unwrap_or(0.0);
        let row = |at: f64| curves.map(|c| c.at(at));
        let value = std::iter::once(from).chain(x.iter().copied()).map(row);
        let slope_after = |i: usize| {
            let Some(&next) = x.get(i + 1) else {
                return [0.0; N];
            };
            curves.map(|c| (c.at(next) - c.at(x[i])) / (next - x[i]))
        };
        Joint {
            value: value.collect(),
            slope: std::iter::once([0.0; N])
                .chain((0..x.len()).map(slope_after))
                .collect(),
            x,
        }
    }
}

/// Width of a [`Lookup`]'s cells as a power of two, ns.
const CELL: u32 = 10;

/// A [`Joint`] for whole abscissae from 0, in single precision: where to look is looked up.
#[derive(Clone, Debug)]
pub(super) struct Lookup<const N: usize> {
    /// Per cell: the row at its begin.
    rows: Vec<u8>,
    /// Per row: where it ends.
    ends: Vec<f64>,
    lines: Vec<Line<N>>,
}

/// Functions between two corners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<const N: usize> {
    from: f64,
    /// At its begin.
    pub value: [f32; N],
    pub slope: [f32; N],
}

impl<const N: usize> Lookup<N> {
    /// `None` when there are too many corners.
    fn new(joint: &Joint<N>) -> Option<Self> {
        let row = |at: f64| u8::try_from(joint.x.partition_point(|&x| x <= at)).ok();
        let cells = 1 + (joint.x.last().map_or(0.0, |x| x.max(0.0)) as usize >> CELL);
        let rows = (0..=cells.min(1 << 20)).map(|cell| row((cell << CELL) as f64));
        let narrow = |row: &[f64; N]| row.map(|v| v as f32);
        let from = [0.0].into_iter().chain(joint.x.iter().copied());
        let lines = from.zip(joint.value.iter().zip(&joint.slope));
        Some(Lookup {
            rows: rows.collect::<Option<_>>()?,
            ends: joint.x.iter().copied().chain([f64::INFINITY]).collect(),
            lines: lines
                .map(|(from, (value, slope))| Line {
                    from,
                    value: narrow(value),
                    slope: narrow(slope),
                })
                .collect(),
        })
    }

    /// The line at `at`, and how far beyond its begin that is.
    #[inline(always)]
    pub fn line(&self, at: i32) -> (&Line<N>, f32) {
        let cell = (at as usize >> CELL).min(self.rows.len() - 1);
        let mut row = usize::from(self.rows[cell]);
        let at = f64::from(at);
        while at >= self.ends[row] {
            row += 1;
        }
        let line = &self.lines[row];
        (line, (at - line.from) as f32)
    }
}

fn flat(curve: &Curve) -> bool {
    curve.y.iter().all(|&y| y == curve.y[0])
}

/// No bound, ns: beyond everything a lane can hold.
const NO_BOUND: f64 = 1e9;

/// The cost model as the kernels use it.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// Over the sleep: base, spread, least and most of the clear delay; CPU of a clear and a hit sleep; added latency and
    /// submission.
    pub sleep: Lookup<8>,
    /// The same for sixteen sleeps at once; `None` when there are too many corners.
    pub sleeps: Option<Sleeps<8>>,
    /// Over the sleep less the latency: base, spread, least and most of the hit delay.
    pub hit: Joint<4>,
    /// The same as single numbers, where they are that.
    pub plain: Option<Plain>,
    /// Whether a sleep may make an I/O faster: only then is one ever seen before it is there, and only then has the sum of late
    /// times to be kept apart.
    pub gains: bool,
    /// ns.
    pub lead: i32,
    /// ns.
    pub reap: i32,
    /// ns, in the tally's own precision.
    pub other_poll: f64,
    /// ns.
    pub other_sleep: f64,
}

/// Costs that depend on nothing, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    /// From the end of the sleep asked to a clear wake-up.
    pub wake: i32,
    /// To the reaping after a hit one.
    pub hit: i32,
    pub cpu_clear: i32,
    pub cpu_hit: i32,
}

impl Costs {
    /// `None` when the curves have too many corners.
    pub fn new(cost: &CostModel) -> Option<Self> {
        let none = Curve::constant(NO_BOUND);
        let most = |curve: &Curve| match curve.x.is_empty() {
            true => none.clone(),
            false => curve.clone(),
        };
        let (clear, hit) = (&cost.wake_clear, &cost.wake_hit);
        let (clear_most, hit_most) = (most(&clear.most_ns), most(&hit.most_ns));
        let sleep = Joint::new([
            &clear.base_ns,
            &clear.spread_ns,
            &clear.least_ns,
            &clear_most,
            &cost.sleep_cpu_clear_ns,
            &cost.sleep_cpu_hit_ns,
            &cost.added_latency_ns,
            &cost.added_submit_ns,
        ]);
        let less = |curve: &Curve| curve.y.iter().any(|&y| y < 0.0);
        let mut costs = Costs {
            plain: None,
            sleep: Lookup::new(&sleep)?,
            sleeps: Sleeps::new(&sleep),
            hit: Joint::new([&hit.base_ns, &hit.spread_ns, &hit.least_ns, &hit_most]),
            gains: cost.reap_hit_ns < 0.0
                || less(&cost.added_latency_ns)
                || less(&cost.added_submit_ns),
            lead: whole(cost.hit_lead_ns),
            reap: whole(cost.reap_hit_ns),
            other_poll: cost.other_cpu_poll_ns,
            other_sleep: cost.other_cpu_sleep_ns,
        };
        costs.plain = costs.plain(cost);
        Some(costs)
    }

    fn plain(&self, cost: &CostModel) -> Option<Plain> {
        self.is_plain(cost).then(|| {
            let [base, _, least, most, cpu_clear, cpu_hit, _, _] =
                self.sleep.line(0).0.value.map(f64::from);
            Plain {
                wake: whole(base.min(most).max(least.max(0.0))),
                hit: whole(self.flat_hit()) + self.reap,
                cpu_clear: whole(cpu_clear),
                cpu_hit: whole(cpu_hit),
            }
        })
    }

    /// Whether the delay of every wake-up is known beforehand, and a sleep adds nothing but that.
    fn is_plain(&self, cost: &CostModel) -> bool {
        let still = |spread: f64, z: &[f64]| spread == 0.0 || z.iter().all(|&z| z == 0.0);
        let zero = |curve: &Curve| curve.y.iter().all(|&y| y == 0.0);
        let spread = |curve: &Curve| curve.y.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        still(spread(&cost.wake_clear.spread_ns), &cost.wake_clear.z)
            && still(spread(&cost.wake_hit.spread_ns), &cost.wake_hit.z)
            && self.hit.x.is_empty()
            && self.sleep.ends.len() == 1
            && zero(&cost.added_latency_ns)
            && zero(&cost.added_submit_ns)
            && self.reap >= 0
    }

    /// The delay of a hit wake-up that does not depend on anything.
    fn flat_hit(&self) -> f64 {
        let [base, _, least, most] = self.hit.value[0];
        base.min(most).max(least.max(0.0))
    }
}

/// To the nearest whole nanosecond, halves up.
pub(super) fn whole(ns: f64) -> i32 {
    let more = ns + 0.5;
    let cut = more as i32;
    // Not `floor`: a call of a library where the machine's own instruction may not be assumed.
    cut - i32::from(f64::from(cut) > more)
}

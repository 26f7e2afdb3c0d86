//! The end of a window: every bucket that has completions gets its new sleep.
//!
//! One lane, sixteen buckets: what the kernels hold bucket by bucket, lanes side by side, is turned round here, so that the rule's
//! arithmetic and the costs of all buckets are one pass through registers.

use super::costs::Costs;
use super::group::nothing;
use super::lanes::LANES;
use super::row::{LATEST, LEAST, Row, SHIFT, WHOLE};
use super::sleeps::Sleeps;
use super::{Around, LONGEST};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, f64x8, i32x16, i64x8};
use q2c_model::Nanos;
use q2c_policy::BUCKETS;
use q2c_policy::form::{Statistic, WindowForm};

/// Statistics below this, 262 us, leave the arithmetic in double precision exact.
const SMALL: i32 = 1 << 18;
/// 2^52: added to a whole number below it, the number stands in the low bits.
const LOW_BITS: f64 = 4_503_599_627_370_496.0;

/// Windows of one lane.
struct Windows {
    statistic: [i32; BUCKETS],
    count: [i32; BUCKETS],
}

/// Gives every bucket of a lane that has completions its new sleep, and forgets them.
#[inline(always)]
pub(super) fn publish<S: Simd>(
    simd: S,
    rows: &mut [Row; BUCKETS + 1],
    lane: usize,
    form: &WindowForm,
    around: &Around<'_>,
) {
    match (&around.costs.sleeps, around.seen.count_ones()) {
        (Some(sleeps), 4..) => all(simd, rows, lane, form, around.costs, sleeps),
        _ => some(simd, rows, lane, form, around),
    }
}

/// Bucket by bucket.
#[inline(always)]
fn some<S: Simd>(
    simd: S,
    rows: &mut [Row; BUCKETS + 1],
    lane: usize,
    form: &WindowForm,
    around: &Around<'_>,
) {
    for row in super::lanes::each(around.seen.into()) {
        let row = &mut rows[row];
        let count = row.count.0[lane];
        if count == 0 {
            continue;
        }
        let sleep = sleep(form, row.statistic.0[lane], count);
        if sleep != row.asked.0[lane] {
            row.set(simd, lane, sleep, around.costs, around.only.is_some());
        }
        row.count.0[lane] = 0;
        row.statistic.0[lane] = nothing(form.statistic);
    }
}

/// The rule itself.
#[inline]
fn sleep(form: &WindowForm, gathered: i32, count: i32) -> i32 {
    let value = match form.statistic {
        Statistic::Mean => gathered / count,
        Statistic::Min => gathered,
    };
    form.sleep(Nanos(value as u64)).0.min(LONGEST) as i32
}

/// All buckets at once.
#[inline(always)]
fn all<S: Simd>(
    simd: S,
    rows: &mut [Row; BUCKETS + 1],
    lane: usize,
    form: &WindowForm,
    costs: &Costs,
    sleeps: &Sleeps<8>,
) {
    let lane = lane % LANES;
    let mut windows = Windows {
        statistic: [0; BUCKETS],
        count: [0; BUCKETS],
    };
    for (i, row) in rows[..BUCKETS].iter().enumerate() {
        windows.statistic[i] = row.statistic.0[lane];
        windows.count[i] = row.count.0[lane];
    }
    let asked = windows.sleeps(simd, form);
    let asked_f: f32x16<S> = asked.to_float();
    let [base, spread, least, most, rest @ ..] = sleeps.at(asked_f);
    let wake = asked_f + 0.5;
    let (wakes, earliest, latest) = (
        after(base, wake),
        after(least.max(LEAST), wake),
        after(most, wake),
    );
    let spread = spread.to_array();
    let [cpu_clear, cpu_hit, added, submit] = rest;
    let (cpu_clear, cpu_hit) = (whole(cpu_clear), whole(cpu_hit));
    let (added, submit) = (whole(added), whole(submit));
    let ahead = (i32x16::splat(simd, costs.lead) - added).to_array();
    let (cpu_clear, cpu_hit) = (cpu_clear.to_array(), cpu_hit.to_array());
    let (added, submit, asked) = (added.to_array(), submit.to_array(), asked.to_array());
    for (i, row) in rows[..BUCKETS].iter_mut().enumerate() {
        if windows.count[i] == 0 {
            continue;
        }
        row.count.0[lane] = 0;
        row.statistic.0[lane] = nothing(form.statistic);
        if asked[i] == 0 {
            row.poll(lane);
            continue;
        }
        if row.asked.0[lane] == 0 {
            row.slept.0[lane] = 1;
        }
        row.asked.0[lane] = asked[i];
        row.wake.0[lane] = wakes[i];
        row.spread.0[lane] = spread[i];
        row.earliest.0[lane] = earliest[i];
        row.latest.0[lane] = latest[i];
        row.ahead.0[lane] = ahead[i];
        row.added.0[lane] = added[i];
        row.submit.0[lane] = submit[i];
        row.cpu_clear.0[lane] = cpu_clear[i];
        row.cpu_hit.0[lane] = cpu_hit[i];
    }
}

/// When a wake-up this late comes.
#[inline(always)]
fn after<S: Simd>(delay: f32x16<S>, wake: f32x16<S>) -> [f32; LANES] {
    (delay + wake).min(LATEST).to_array()
}

#[inline(always)]
fn whole<S: Simd>(ns: f32x16<S>) -> i32x16<S> {
    (ns + WHOLE).to_int::<i32x16<S>>() - SHIFT as i32
}

/// Half of the buckets: low words are sleeps; and whether a statistic is too large for that.
#[inline(always)]
fn half<S: Simd>(gathered: i64x8<S>, count: i64x8<S>, form: &WindowForm) -> (i64x8<S>, bool) {
    let (gathered, count): (f64x8<S>, f64x8<S>) = (gathered.to_float(), count.to_float());
    let value = match form.statistic {
        Statistic::Mean => (gathered / count).floor(),
        Statistic::Min => gathered,
    };
    let large = value.simd_ge(f64::from(SMALL)).any_true();
    let share = form.parts_per_billion() as f64;
    // A quarter more than half: what is whole stays above its own bound when the product is rounded.
    let sleep = ((value * share + 500_000_000.25) * 1e-9).floor();
    ((sleep + LOW_BITS).bitcast(), large)
}

impl Windows {
    /// The rule for all buckets; anything for one without completions.
    #[inline(always)]
    fn sleeps<S: Simd>(&self, simd: S, form: &WindowForm) -> i32x16<S> {
        let count = i32x16::load_array_ref(simd, &self.count);
        let gathered = i32x16::load_array_ref(simd, &self.statistic);
        let gathered = count.simd_gt(0).select(gathered, count);
        let (low, high) = gathered.widen();
        let (low_count, high_count) = count.max(1).widen();
        let (low, low_large) = half(low, low_count, form);
        let (high, high_large) = half(high, high_count, form);
        if !low_large && !high_large {
            return low.narrow(high);
        }
        self.one_by_one(simd, form)
    }

    #[cold]
    #[inline(never)]
    fn one_by_one<S: Simd>(&self, simd: S, form: &WindowForm) -> i32x16<S> {
        let sleeps: [i32; BUCKETS] = std::array::from_fn(|row| match self.count[row] {
            0 => 0,
            count => sleep(form, self.statistic[row], count),
        });
        i32x16::load_array(simd, sleeps)
    }
}

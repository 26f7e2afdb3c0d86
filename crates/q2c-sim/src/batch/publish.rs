//! Window ends: every bucket with completions gets its new sleep.
//!
//! A row holds one bucket, with the lanes side by side. If several lanes close a window at the same
//! I/O, as lanes of one period mostly do, the buckets pass through registers one after another, all
//! lanes at once. If one lane closes alone, its sixteen buckets are gathered into one register and
//! pass at once.

use super::costs::CostTables;
use super::group::{LaneRule, LaneState, SimdGroup, empty_statistic};
use super::lines::SleepLines;
use super::priced::PricedSleeps;
use super::row::BucketRow;
use super::simd_lanes::{SIMD_LANES, SimdLanes, set_bits};
use super::{KernelInput, MAX_SLEEP_NS};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, f64x8, i32x16, i64x8, mask32x16};
use q2c_model::Nanos;
use q2c_policy::BUCKETS;
use q2c_policy::form::{WindowForm, WindowStatistic};

/// Values below this, 262 us in ns, are exact: the single-precision quotient is off by at most one,
/// which is corrected, and the product is rounded far from any bound.
const MAX_EXACT_NS: i32 = 1 << 18;
/// 2^52. If it is added to a smaller whole number, that number is in the low bits of the sum.
const LOW_BITS: f64 = 4_503_599_627_370_496.0;
/// From this number of closing lanes on, one pass over all buckets is cheaper than one per lane.
const MIN_ROW_LANES: u32 = 3;

/// Gives each bucket with completions, in the lanes of the bit set `closing`, its new sleep.
#[inline(always)]
pub(super) fn publish<S: Simd>(simd: S, group: &mut SimdGroup, closing: u64, input: &KernelInput) {
    let rows = &mut *group.rows;
    match &input.costs.sleeps {
        Some(sleeps) if closing.count_ones() >= MIN_ROW_LANES => {
            for row in set_bits(input.row_bits.into()) {
                let shares = &group.shares;
                let row = &mut rows[row];
                let large = publish_row(simd, row, group.statistic, shares, closing, input, sleeps);
                publish_singly(simd, row, &group.lanes, large, input);
            }
        }
        Some(sleeps) if input.row_bits.count_ones() >= 4 => {
            for lane in set_bits(closing) {
                if let LaneRule::Windowed(form) = group.lanes[lane].rule {
                    publish_lane(simd, rows, lane, &form, &input.costs, sleeps);
                }
            }
        }
        _ => {
            for row in set_bits(input.row_bits.into()) {
                publish_singly(simd, &mut rows[row], &group.lanes, closing, input);
            }
        }
    }
}

#[inline(always)]
fn publish_singly<S: Simd>(
    simd: S,
    row: &mut BucketRow,
    lanes: &[LaneState; SIMD_LANES],
    closing: u64,
    input: &KernelInput,
) {
    for lane in set_bits(closing) {
        let (LaneRule::Windowed(form), count) = (lanes[lane].rule, row.count.0[lane]) else {
            continue;
        };
        if count == 0 {
            continue;
        }
        let sleep = sleep(&form, row.statistic.0[lane], count);
        if sleep != row.sleep.asked.0[lane] {
            row.set(simd, lane, sleep, &input.costs, input.only_row.is_some());
        }
        row.count.0[lane] = 0;
        row.statistic.0[lane] = empty_statistic(form.statistic);
    }
}

#[inline]
fn sleep(form: &WindowForm, gathered: i32, count: i32) -> i32 {
    let value = match form.statistic {
        WindowStatistic::Mean => gathered / count,
        WindowStatistic::Min => gathered,
    };
    form.sleep(Nanos(value as u64)).0.min(MAX_SLEEP_NS) as i32
}

#[inline(always)]
fn store_i32<S: Simd>(column: &mut SimdLanes<i32>, lanes: mask32x16<S>, new: i32x16<S>) {
    let old = column.load(new.token());
    column.store(lanes.select(new, old));
}

#[inline(always)]
fn store_f32<S: Simd>(column: &mut SimdLanes<f32>, lanes: mask32x16<S>, new: f32x16<S>) {
    let old = column.load(new.token());
    column.store(lanes.select(new, old));
}

/// Returns a bit set of the lanes whose statistic is too large for the registers.
#[inline(always)]
fn publish_row<S: Simd>(
    simd: S,
    row: &mut BucketRow,
    statistic: WindowStatistic,
    shares: &SimdLanes<f64>,
    closing: u64,
    input: &KernelInput,
    sleeps: &SleepLines<8>,
) -> u64 {
    let count = row.count.load(simd);
    let lanes = mask32x16::from_bitmask(simd, closing) & count.simd_gt(0);
    if !lanes.any_true() {
        return 0;
    }
    let (low, high) = shares.0.split_at(SIMD_LANES / 2);
    let shares = [f64x8::from_slice(simd, low), f64x8::from_slice(simd, high)];
    let zero = i32x16::splat(simd, 0);
    let gathered = lanes.select(row.statistic.load(simd), zero);
    let Some(asked) = asked_ns(statistic, gathered, lanes.select(count, zero + 1), shares) else {
        return lanes.to_bitmask();
    };
    store_i32(&mut row.count, lanes, zero);
    let empty = i32x16::splat(simd, empty_statistic(statistic));
    store_i32(&mut row.statistic, lanes, empty);
    set_bits((lanes & asked.simd_eq(0)).to_bitmask()).for_each(|lane| row.poll(lane));
    let lanes = lanes & asked.simd_gt(0);
    store_i32(&mut row.sleep.asked, lanes, asked);
    store_i32(&mut row.slept, lanes, zero + 1);
    match (&input.costs.plain, input.only_row) {
        (Some(plain), Some(_)) => {
            store_i32(&mut row.sleep.cpu_clear, lanes, zero + plain.cpu_clear);
            store_i32(&mut row.sleep.cpu_hit, lanes, zero + plain.cpu_hit);
            store_i32(&mut row.plain_wake, lanes, asked + plain.wake);
            let clear = asked + (plain.wake + input.costs.lead);
            store_i32(&mut row.plain_clear, lanes, clear);
            store_i32(&mut row.plain_hit, lanes, asked + plain.hit);
        }
        _ => store_priced(row, lanes, &PricedSleeps::new(asked, &input.costs, sleeps)),
    }
    0
}

#[inline(always)]
fn store_priced<S: Simd>(row: &mut BucketRow, lanes: mask32x16<S>, priced: &PricedSleeps<S>) {
    let sleep = &mut row.sleep;
    store_f32(&mut sleep.wake, lanes, priced.wake);
    store_f32(&mut sleep.spread, lanes, priced.spread);
    store_f32(&mut sleep.earliest, lanes, priced.earliest);
    store_f32(&mut sleep.latest, lanes, priced.latest);
    store_i32(&mut sleep.clear_margin, lanes, priced.clear_margin);
    store_i32(&mut sleep.added_latency, lanes, priced.added_latency);
    store_i32(&mut sleep.added_submit, lanes, priced.added_submit);
    store_i32(&mut sleep.cpu_clear, lanes, priced.cpu_clear);
    store_i32(&mut sleep.cpu_hit, lanes, priced.cpu_hit);
}

#[inline(always)]
fn publish_lane<S: Simd>(
    simd: S,
    rows: &mut [BucketRow; BUCKETS + 1],
    lane: usize,
    form: &WindowForm,
    costs: &CostTables,
    sleeps: &SleepLines<8>,
) {
    let lane = lane % SIMD_LANES;
    let (mut gathered, mut count) = ([0; BUCKETS], [0; BUCKETS]);
    for (i, row) in rows[..BUCKETS].iter().enumerate() {
        count[i] = row.count.0[lane];
        gathered[i] = row.statistic.0[lane];
    }
    let asked = lane_sleeps(simd, form, &gathered, &count);
    let priced = PricedSleeps::new(asked, costs, sleeps);
    let priced = priced.map(
        #[inline(always)]
        |ns| ns.to_array(),
        #[inline(always)]
        |ns| ns.to_array(),
    );
    for (i, row) in rows[..BUCKETS].iter_mut().enumerate() {
        if count[i] == 0 {
            continue;
        }
        row.count.0[lane] = 0;
        row.statistic.0[lane] = empty_statistic(form.statistic);
        if priced.asked[i] == 0 {
            row.poll(lane);
        } else {
            row.set_priced(lane, &priced.map(|ns| ns[i], |ns| ns[i]));
        }
    }
}

/// The sleep of each bucket, ns. The value of a bucket without completions has no meaning.
#[inline(always)]
fn lane_sleeps<S: Simd>(
    simd: S,
    form: &WindowForm,
    gathered: &[i32; BUCKETS],
    count: &[i32; BUCKETS],
) -> i32x16<S> {
    let counts = i32x16::load_array_ref(simd, count);
    let values = i32x16::load_array_ref(simd, gathered);
    let values = counts.simd_gt(0).select(values, counts);
    let share = f64x8::splat(simd, form.parts_per_billion() as f64);
    asked_ns(form.statistic, values, counts.max(1), [share; 2])
        .unwrap_or_else(|| i32x16::load_array(simd, bucket_sleeps(form, gathered, count)))
}

/// The slow path for a statistic that is too large for the registers.
#[cold]
#[inline(never)]
fn bucket_sleeps(
    form: &WindowForm,
    gathered: &[i32; BUCKETS],
    count: &[i32; BUCKETS],
) -> [i32; BUCKETS] {
    std::array::from_fn(|bucket| match count[bucket] {
        0 => 0,
        n => sleep(form, gathered[bucket], n),
    })
}

/// [`sleep`] in registers; `None` if a statistic is [`MAX_EXACT_NS`] or larger.
#[inline(always)]
fn asked_ns<S: Simd>(
    statistic: WindowStatistic,
    gathered: i32x16<S>,
    count: i32x16<S>,
    shares: [f64x8<S>; 2],
) -> Option<i32x16<S>> {
    let value = match statistic {
        WindowStatistic::Mean => quotient(gathered, count),
        WindowStatistic::Min => gathered,
    };
    if value.simd_ge(MAX_EXACT_NS).any_true() {
        return None;
    }
    let (low, high) = value.widen();
    Some(share_of(low, shares[0]).narrow(share_of(high, shares[1])))
}

#[inline(always)]
fn quotient<S: Simd>(gathered: i32x16<S>, count: i32x16<S>) -> i32x16<S> {
    let (dividend, divisor): (f32x16<S>, f32x16<S>) = (gathered.to_float(), count.to_float());
    let estimate: i32x16<S> = (dividend / divisor).to_int();
    let remainder = gathered - estimate * count;
    let lowered = remainder.simd_lt(0).select(estimate - 1, estimate);
    remainder.simd_ge(count).select(estimate + 1, lowered)
}

#[inline(always)]
fn share_of<S: Simd>(value: i64x8<S>, share: f64x8<S>) -> i64x8<S> {
    let value: f64x8<S> = value.to_float();
    // The extra .25 keeps a whole result whole when the product with 1e-9 is rounded down.
    let sleep = ((value * share + 500_000_000.25) * 1e-9).floor();
    (sleep + LOW_BITS).bitcast()
}

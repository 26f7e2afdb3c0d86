//! The kernel for one bucket and known delays. An I/O costs a comparison, a maximum and five sums.

use super::KernelInput;
use super::group::{IDLE, LaneRule, SimdGroup, WindowBefore};
use super::simd_lanes::{SimdLanes, set_bits};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, i32x16, mask32x16};
use q2c_policy::form::WindowStatistic;

#[derive(Clone, Copy)]
struct PlainSleep<S: Simd> {
    clear_above: i32x16<S>,
    hit_reaped: i32x16<S>,
    cpu_hit: i32x16<S>,
    reap: i32x16<S>,
}

#[derive(Clone, Copy)]
struct PlainSums<S: Simd> {
    left: i32x16<S>,
    statistic: i32x16<S>,
    misses: i32x16<S>,
    hit_waits: i32x16<S>,
    hit_cpu: i32x16<S>,
}

impl<S: Simd> PlainSleep<S> {
    #[inline(always)]
    fn load(simd: S, group: &SimdGroup, row: usize, reap: i32) -> Self {
        let row = &group.rows[row];
        PlainSleep {
            clear_above: row.plain_clear.load(simd),
            hit_reaped: row.plain_hit.load(simd),
            cpu_hit: row.sleep.cpu_hit.load(simd),
            reap: i32x16::splat(simd, reap),
        }
    }

    #[inline(always)]
    fn observe(&self, wait: i32x16<S>) -> (mask32x16<S>, i32x16<S>) {
        let clear = wait.simd_gt(self.clear_above);
        let reaped = self.hit_reaped.max(wait + self.reap);
        (clear, clear.select(wait, reaped))
    }
}

impl<S: Simd> PlainSums<S> {
    #[inline(always)]
    fn load(simd: S, group: &SimdGroup, row: usize) -> Self {
        PlainSums {
            left: group.left.load(simd),
            statistic: group.rows[row].statistic.load(simd),
            misses: group.sums.misses.load(simd),
            hit_waits: group.sums.hit_waits.load(simd),
            hit_cpu: group.sums.cpu.load(simd),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut SimdGroup, row: usize) {
        group.left.store(self.left);
        group.rows[row].statistic.store(self.statistic);
        group.sums.misses.store(self.misses);
        group.sums.hit_waits.store(self.hit_waits);
        group.sums.cpu.store(self.hit_cpu);
    }

    #[inline(always)]
    fn add<const MEAN: bool>(
        self,
        sleep: &PlainSleep<S>,
        wait: i32x16<S>,
        clear: mask32x16<S>,
        observed: i32x16<S>,
        left: i32x16<S>,
    ) -> Self {
        let zero = i32x16::splat(left.token(), 0);
        let if_hit = |value: i32x16<S>| clear.select(zero, value);
        PlainSums {
            left,
            statistic: if MEAN {
                self.statistic + observed
            } else {
                self.statistic.min(observed)
            },
            misses: self.misses + if_hit(zero + 1),
            hit_waits: self.hit_waits + if_hit(wait),
            hit_cpu: self.hit_cpu + if_hit(sleep.cpu_hit.min(observed)),
        }
    }
}

#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, group: &mut SimdGroup, row: usize, input: &KernelInput) {
    match (group.statistic, group.histogram.is_some()) {
        (WindowStatistic::Mean, false) => run_piece::<S, true, false>(simd, group, row, input),
        (WindowStatistic::Min, false) => run_piece::<S, false, false>(simd, group, row, input),
        (WindowStatistic::Mean, true) => run_piece::<S, true, true>(simd, group, row, input),
        (WindowStatistic::Min, true) => run_piece::<S, false, true>(simd, group, row, input),
    }
}

#[inline(always)]
fn run_piece<S: Simd, const MEAN: bool, const HISTOGRAM: bool>(
    simd: S,
    group: &mut SimdGroup,
    row: usize,
    input: &KernelInput,
) {
    let mut from = 0;
    while let Some(due) = run_until_event::<S, MEAN, HISTOGRAM>(simd, group, row, input, from) {
        run_io_with_events::<S, MEAN>(simd, group, row, input, due);
        from = due + 1;
    }
}

/// Runs until an event is due: returns that I/O, not yet counted, or `None` at the end.
#[inline(always)]
fn run_until_event<S: Simd, const MEAN: bool, const HISTOGRAM: bool>(
    simd: S,
    group: &mut SimdGroup,
    row: usize,
    input: &KernelInput,
    from: usize,
) -> Option<usize> {
    let sleep = PlainSleep::load(simd, group, row, input.costs.reap);
    let mut sums = PlainSums::load(simd, group, row);
    let mut due = None;
    let ios = input.piece.wait[from..]
        .iter()
        .zip(&input.piece.returned[from..]);
    for (n, (&wait, &returned)) in ios.enumerate() {
        let wait = i32x16::splat(simd, wait);
        let (clear, observed) = sleep.observe(wait);
        let left = sums.left - observed;
        if left.simd_le(i32x16::splat(simd, returned)).any_true() {
            due = Some(from + n);
            break;
        }
        sums = sums.add::<MEAN>(&sleep, wait, clear, observed, left);
        if HISTOGRAM {
            count_latency(group, input, from + n, clear, observed);
        }
    }
    sums.store(group, row);
    due
}

#[inline(always)]
pub(super) fn count_latency<S: Simd>(
    group: &mut SimdGroup,
    input: &KernelInput,
    i: usize,
    clear: mask32x16<S>,
    observed: i32x16<S>,
) {
    let Some(histogram) = &mut group.histogram else {
        return;
    };
    let piece = &input.piece;
    let submit = piece.submit[i];
    let (latency, recorded) = (observed + submit, piece.wait[i] + submit);
    let weight = piece.weight[i];
    histogram.count_missed(!clear, latency, recorded, weight, input.counting);
}

#[inline(always)]
fn run_io_with_events<S: Simd, const MEAN: bool>(
    simd: S,
    group: &mut SimdGroup,
    row: usize,
    input: &KernelInput,
    i: usize,
) {
    let returned = i32x16::splat(simd, input.piece.returned[i]);
    let overdue = group.left.load(simd).simd_le(returned);
    for lane in set_bits(overdue.to_bitmask()) {
        count(group, lane, row, i, input);
        group.prepare(simd, lane, i, input);
    }
    let sleep = PlainSleep::load(simd, group, row, input.costs.reap);
    let sums = PlainSums::load(simd, group, row);
    let wait = i32x16::splat(simd, input.piece.wait[i]);
    let (clear, observed) = sleep.observe(wait);
    let left = sums.left - observed;
    sums.add::<MEAN>(&sleep, wait, clear, observed, left)
        .store(group, row);
    count_latency(group, input, i, clear, observed);
    let due = left.simd_le(returned).to_bitmask();
    set_bits(due).for_each(|lane| count(group, lane, row, i, input));
    let mut statistic = SimdLanes::<i32>::default();
    statistic.store(sums.statistic);
    let before = WindowBefore {
        statistic,
        count: group.rows[row].count,
    };
    group.complete(simd, due, i, &observed.to_array(), &before, input);
}

/// Sets the count of an open window: with one bucket, all I/Os since its first are in it.
#[inline]
pub(super) fn count(group: &mut SimdGroup, lane: usize, row: usize, i: usize, input: &KernelInput) {
    let state = &group.lanes[lane];
    if matches!(state.rule, LaneRule::Windowed(_)) && state.end != IDLE {
        let ios = input.piece.ios_before + i as u64 - state.opened;
        group.rows[row].count.0[lane] = ios as i32;
    }
}

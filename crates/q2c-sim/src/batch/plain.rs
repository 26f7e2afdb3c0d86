//! The kernel for one bucket and delays that are known beforehand. Each I/O costs a comparison, a
//! maximum and five sums.

use super::Around;
use super::group::{Group, Held};
use super::histogram::Histogram;
use super::lane::{IDLE, Rule};
use super::lanes::{Lanes, each};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, i32x16, mask32x16};
use q2c_policy::form::Statistic;

/// What the kernel reads of the row. It is constant until a lane's sleep changes.
#[derive(Clone, Copy)]
struct Fixed<S: Simd> {
    clear: i32x16<S>,
    hit: i32x16<S>,
    cpu_hit: i32x16<S>,
    reap: i32x16<S>,
}

/// The lanes' time, window and sums, kept in registers between two events.
#[derive(Clone, Copy)]
struct Moving<S: Simd> {
    left: i32x16<S>,
    statistic: i32x16<S>,
    misses: i32x16<S>,
    hit_waits: i32x16<S>,
    hit_cpu: i32x16<S>,
}

#[inline(always)]
fn load<S: Simd>(simd: S, lanes: &Lanes<i32>) -> i32x16<S> {
    i32x16::load_array_ref(simd, &lanes.0)
}

impl<S: Simd> Fixed<S> {
    #[inline(always)]
    fn load(simd: S, group: &Group, row: usize, reap: i32) -> Self {
        let row = &group.rows[row];
        Fixed {
            clear: load(simd, &row.plain_clear),
            hit: load(simd, &row.plain_hit),
            cpu_hit: load(simd, &row.cpu_hit),
            reap: i32x16::splat(simd, reap),
        }
    }

    /// Returns which lanes were clear, and the time that each observed.
    #[inline(always)]
    fn observe(&self, wait: i32x16<S>) -> (mask32x16<S>, i32x16<S>) {
        let clear = wait.simd_gt(self.clear);
        let reaped = self.hit.max(wait + self.reap);
        (clear, clear.select(wait, reaped))
    }
}

impl<S: Simd> Moving<S> {
    #[inline(always)]
    fn load(simd: S, group: &Group, row: usize) -> Self {
        Moving {
            left: load(simd, &group.left),
            statistic: load(simd, &group.rows[row].statistic),
            misses: load(simd, &group.sums.misses),
            hit_waits: load(simd, &group.sums.hit_waits),
            hit_cpu: load(simd, &group.sums.cpu),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut Group, row: usize) {
        self.left.store_array(&mut group.left.0);
        self.statistic.store_array(&mut group.rows[row].statistic.0);
        self.misses.store_array(&mut group.sums.misses.0);
        self.hit_waits.store_array(&mut group.sums.hit_waits.0);
        self.hit_cpu.store_array(&mut group.sums.cpu.0);
    }

    /// Adds an I/O; `left` is the value after it.
    #[inline(always)]
    fn add<const MEAN: bool>(
        self,
        fixed: &Fixed<S>,
        wait: i32x16<S>,
        clear: mask32x16<S>,
        observed: i32x16<S>,
        left: i32x16<S>,
    ) -> Self {
        let zero = i32x16::splat(left.token(), 0);
        let if_hit = |value: i32x16<S>| clear.select(zero, value);
        Moving {
            left,
            statistic: match MEAN {
                true => self.statistic + observed,
                false => self.statistic.min(observed),
            },
            misses: self.misses + if_hit(zero + 1),
            hit_waits: self.hit_waits + if_hit(wait),
            hit_cpu: self.hit_cpu + if_hit(fixed.cpu_hit.min(observed)),
        }
    }
}

/// Runs a group over a piece whose I/Os all have the bucket `row`.
#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, group: &mut Group, row: usize, around: &Around<'_>) {
    match (group.statistic, group.histogram.is_some()) {
        (Statistic::Mean, false) => loops::<S, true, false>(simd, group, row, around),
        (Statistic::Min, false) => loops::<S, false, false>(simd, group, row, around),
        (Statistic::Mean, true) => loops::<S, true, true>(simd, group, row, around),
        (Statistic::Min, true) => loops::<S, false, true>(simd, group, row, around),
    }
}

#[inline(always)]
fn loops<S: Simd, const MEAN: bool, const COUNTS: bool>(
    simd: S,
    group: &mut Group,
    row: usize,
    around: &Around<'_>,
) {
    let mut from = 0;
    while let Some(due) = quiet::<S, MEAN, COUNTS>(simd, group, row, around, from) {
        eventful::<S, MEAN>(simd, group, row, around, due);
        from = due + 1;
    }
}

/// Simulates I/Os from `from` on until an event is due. Returns that I/O, which is not yet counted,
/// or `None` at the piece's end.
#[inline(always)]
fn quiet<S: Simd, const MEAN: bool, const COUNTS: bool>(
    simd: S,
    group: &mut Group,
    row: usize,
    around: &Around<'_>,
    from: usize,
) -> Option<usize> {
    let fixed = Fixed::load(simd, group, row, around.costs.reap);
    let mut moving = Moving::load(simd, group, row);
    let mut due = None;
    let ios = around.piece.wait[from..]
        .iter()
        .zip(&around.piece.returned[from..]);
    for (n, (&wait, &returned)) in ios.enumerate() {
        let wait = i32x16::splat(simd, wait);
        let (clear, observed) = fixed.observe(wait);
        let left = moving.left - observed;
        if left.simd_le(i32x16::splat(simd, returned)).any_true() {
            due = Some(from + n);
            break;
        }
        moving = moving.add::<MEAN>(&fixed, wait, clear, observed, left);
        if COUNTS && let Some(histogram) = &mut group.histogram {
            tally(histogram, around, from + n, clear, observed);
        }
    }
    moving.store(group, row);
    due
}

/// Counts the latencies of I/O `i` for percentiles.
#[inline(always)]
pub(super) fn tally<S: Simd>(
    histogram: &mut Histogram,
    around: &Around<'_>,
    i: usize,
    clear: mask32x16<S>,
    observed: i32x16<S>,
) {
    let piece = around.piece;
    let submit = piece.submit[i];
    let (latency, recorded) = (observed + submit, piece.wait[i] + submit);
    let weight = piece.weight[i];
    histogram.count_missed(!clear, latency, recorded, weight, around.counting);
}

/// Simulates I/O `i` with the events that are due around it.
#[inline(always)]
fn eventful<S: Simd, const MEAN: bool>(
    simd: S,
    group: &mut Group,
    row: usize,
    around: &Around<'_>,
    i: usize,
) {
    let returned = i32x16::splat(simd, around.piece.returned[i]);
    let overdue = load(simd, &group.left).simd_le(returned);
    for lane in each(overdue.to_bitmask()) {
        count(group, lane, row, i, around);
        group.before(simd, lane, i, around);
    }
    let fixed = Fixed::load(simd, group, row, around.costs.reap);
    let moving = Moving::load(simd, group, row);
    let wait = i32x16::splat(simd, around.piece.wait[i]);
    let (clear, observed) = fixed.observe(wait);
    let left = moving.left - observed;
    moving
        .add::<MEAN>(&fixed, wait, clear, observed, left)
        .store(group, row);
    if let Some(histogram) = &mut group.histogram {
        tally(histogram, around, i, clear, observed);
    }
    let due = left.simd_le(returned).to_bitmask();
    each(due).for_each(|lane| count(group, lane, row, i, around));
    let mut statistic = Lanes::default();
    moving.statistic.store_array(&mut statistic.0);
    let held = Held {
        statistic,
        count: group.rows[row].count,
    };
    group.after(simd, due, i, &observed.to_array(), &held, around);
}

/// Sets the count of a lane's open window before I/O `i`. The kernel does not count, because with
/// one bucket all I/Os since the window's first are in it.
#[inline]
pub(super) fn count(group: &mut Group, lane: usize, row: usize, i: usize, around: &Around<'_>) {
    let state = &group.lanes[lane];
    if matches!(state.rule, Rule::Windowed(_)) && state.end != IDLE {
        let ios = around.piece.first + i as u64 - state.opened;
        group.rows[row].count.0[lane] = ios as i32;
    }
}

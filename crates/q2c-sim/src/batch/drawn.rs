//! The general kernel of windowed rules and fixed sleeps: drawn delays, any number of buckets.

use super::KernelInput;
use super::costs::CostTables;
use super::group::{SimdGroup, WindowBefore};
use super::histogram::GroupHistogram;
use super::hit::Loaded;
use super::row::BucketRow;
use super::running::{IoOutcome, LaneSleeps, RunningSums};
use super::simd_lanes::each;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16};
use q2c_policy::form::WindowStatistic;

#[derive(Clone, Copy)]
struct DrawnIo<S: Simd> {
    wait: i32x16<S>,
    z_clear: f32x16<S>,
    z_hit: f32x16<S>,
}

impl<S: Simd> DrawnIo<S> {
    #[inline(always)]
    fn load(simd: S, input: &KernelInput, i: usize) -> Self {
        let piece = &input.piece;
        DrawnIo {
            wait: i32x16::splat(simd, piece.wait[i]),
            z_clear: f32x16::splat(simd, piece.z_clear[i]),
            z_hit: f32x16::splat(simd, piece.z_hit[i]),
        }
    }
}

impl<S: Simd> IoOutcome<S> {
    #[inline(always)]
    fn drawn(io: DrawnIo<S>, row: &BucketRow, hit: &Loaded<'_, S>, costs: &CostTables) -> Self {
        let simd = io.wait.token();
        let drawn = row.wake.load(simd) + row.spread.load(simd) * io.z_clear;
        let (earliest, latest) = (row.earliest.load(simd), row.latest.load(simd));
        let wake: i32x16<S> = drawn.min(latest).max(earliest).to_int();
        let clear = io.wait.simd_gt(wake + row.ahead.load(simd));
        let mut latency = io.wait + row.added.load(simd);
        if costs.gains {
            latency = latency.max(0);
        }
        let observed = if clear.all_true() {
            latency
        } else {
            let asked = row.asked.load(simd);
            let x: f32x16<S> = (asked - latency).to_float();
            let late: i32x16<S> = (hit.delay(x, io.z_hit) + 0.5).to_int();
            let reaped = (asked + late).max(latency) + costs.reap;
            clear.select(latency, reaped)
        };
        IoOutcome {
            clear,
            observed,
            polled: latency - wake,
        }
    }
}

#[derive(Clone, Copy)]
struct DrawnSums<S: Simd> {
    running: RunningSums<S>,
    late: i32x16<S>,
    added: i32x16<S>,
}

impl<S: Simd> DrawnSums<S> {
    #[inline(always)]
    fn load(simd: S, group: &SimdGroup) -> Self {
        DrawnSums {
            running: RunningSums::load(simd, group),
            late: group.sums.late.load(simd),
            added: group.sums.added.load(simd),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut SimdGroup) {
        self.running.store(group);
        group.sums.late.store(self.late);
        group.sums.added.store(self.added);
    }

    #[inline(always)]
    fn add(
        self,
        io: DrawnIo<S>,
        outcome: &IoOutcome<S>,
        row: &BucketRow,
        left: i32x16<S>,
        submit: i32x16<S>,
        gains: bool,
    ) -> Self {
        let simd = left.token();
        let sleeps = LaneSleeps {
            asked: row.asked.load(simd),
            slept: row.slept.load(simd),
            cpu_clear: row.cpu_clear.load(simd),
            cpu_hit: row.cpu_hit.load(simd),
        };
        DrawnSums {
            running: self.running.add(outcome, &sleeps, left),
            late: if gains {
                self.late + (outcome.observed - io.wait).max(0)
            } else {
                self.late
            },
            added: self.added + submit,
        }
    }
}

/// A gain that was measured on longer submissions does not turn a short one negative.
#[inline(always)]
fn added<S: Simd>(simd: S, row: &BucketRow, recorded: i32, costs: &CostTables) -> i32x16<S> {
    let added = row.submit.load(simd);
    if costs.gains {
        added.max(-recorded)
    } else {
        added
    }
}

#[inline(always)]
fn count<S: Simd>(
    histogram: &mut GroupHistogram,
    input: &KernelInput,
    i: usize,
    outcome: &IoOutcome<S>,
    submit: i32x16<S>,
) {
    let piece = &input.piece;
    let latency = outcome.observed + submit + piece.submit[i];
    let (weight, counting) = (piece.weight[i], input.counting);
    match input.common {
        None => histogram.count(latency, weight, counting),
        Some(_) => {
            let recorded = piece.wait[i] + piece.submit[i];
            histogram.count_missed(!outcome.clear, latency, recorded, weight, counting);
        }
    }
}

#[inline(always)]
fn gather<S: Simd>(row: &mut BucketRow, statistic: WindowStatistic, observed: i32x16<S>) {
    let simd = observed.token();
    let held = row.statistic.load(simd);
    let now = match statistic {
        WindowStatistic::Mean => held + observed,
        WindowStatistic::Min => held.min(observed),
    };
    row.statistic.store(now);
    row.count.store(row.count.load(simd) + 1);
}

#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, group: &mut SimdGroup, input: &KernelInput) {
    let mut from = 0;
    while let Some(due) = quiet(simd, group, input, from) {
        eventful(simd, group, input, due);
        from = due + 1;
    }
}

/// Until an event is due: returns that I/O, not yet counted, or `None` at the end.
#[inline(always)]
fn quiet<S: Simd>(
    simd: S,
    group: &mut SimdGroup,
    input: &KernelInput,
    from: usize,
) -> Option<usize> {
    let piece = &input.piece;
    let hit = input.hit.load(simd);
    let mut sums = DrawnSums::load(simd, group);
    let mut due = None;
    for i in from..piece.len() {
        let io = DrawnIo::load(simd, input, i);
        let row = &mut group.rows[usize::from(piece.row[i])];
        let outcome = IoOutcome::drawn(io, row, &hit, &input.costs);
        let submit = added(simd, row, piece.submit[i], &input.costs);
        let left = sums.running.left - outcome.observed - submit;
        if left
            .simd_le(i32x16::splat(simd, piece.returned[i]))
            .any_true()
        {
            due = Some(i);
            break;
        }
        sums = sums.add(io, &outcome, row, left, submit, input.costs.gains);
        gather(row, group.statistic, outcome.observed);
        if let Some(histogram) = &mut group.histogram {
            count(histogram, input, i, &outcome, submit);
        }
    }
    sums.store(group);
    due
}

#[inline(always)]
fn eventful<S: Simd>(simd: S, group: &mut SimdGroup, input: &KernelInput, i: usize) {
    let piece = &input.piece;
    let returned = i32x16::splat(simd, piece.returned[i]);
    let overdue = group.left.load(simd).simd_le(returned);
    for lane in each(overdue.to_bitmask()) {
        group.before(simd, lane, i, input);
    }
    let hit = input.hit.load(simd);
    let sums = DrawnSums::load(simd, group);
    let io = DrawnIo::load(simd, input, i);
    let row = &mut group.rows[usize::from(piece.row[i])];
    let outcome = IoOutcome::drawn(io, row, &hit, &input.costs);
    let submit = added(simd, row, piece.submit[i], &input.costs);
    let left = sums.running.left - outcome.observed - submit;
    let sums = sums.add(io, &outcome, row, left, submit, input.costs.gains);
    let before = WindowBefore {
        statistic: row.statistic,
        count: row.count,
    };
    gather(row, group.statistic, outcome.observed);
    sums.store(group);
    if let Some(histogram) = &mut group.histogram {
        count(histogram, input, i, &outcome, submit);
    }
    let due = left.simd_le(returned).to_bitmask();
    let observed = outcome.observed.to_array();
    group.after(simd, due, i, &observed, &before, input);
}

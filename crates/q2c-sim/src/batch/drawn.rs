//! The general kernel of windowed rules and fixed sleeps: drawn delays, any number of buckets.

use super::KernelInput;
use super::group::{SimdGroup, WindowBefore};
use super::histogram::GroupHistogram;
use super::lines::LoadedLines;
use super::priced::PricedSleeps;
use super::row::BucketRow;
use super::simd_lanes::{SimdLanes, set_bits};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, mask32x16};
use q2c_policy::form::WindowStatistic;

#[derive(Clone, Copy)]
pub(super) struct IoOutcome<S: Simd> {
    pub clear: mask32x16<S>,
    pub observed: i32x16<S>,
    pub polled: i32x16<S>,
}

impl<S: Simd> IoOutcome<S> {
    #[inline(always)]
    pub(super) fn cpu(&self, cpu_clear: i32x16<S>, cpu_hit: i32x16<S>) -> i32x16<S> {
        let cpu = self.clear.select(cpu_clear + self.polled, cpu_hit);
        cpu.min(self.observed)
    }
}

/// Remaining time and sums that this kernel and `pas` keep in registers; `plain` keeps fewer.
#[derive(Clone, Copy)]
pub(super) struct RunningSums<S: Simd> {
    pub left: i32x16<S>,
    pub misses: i32x16<S>,
    pub asked: i32x16<S>,
    pub slept: i32x16<S>,
    pub polled: i32x16<S>,
    pub cpu: i32x16<S>,
}

impl<S: Simd> RunningSums<S> {
    #[inline(always)]
    pub(crate) fn load(simd: S, group: &SimdGroup) -> Self {
        let load = |column: &SimdLanes<i32>| column.load(simd);
        let sums = &group.sums;
        RunningSums {
            left: load(&group.left),
            misses: load(&sums.misses),
            asked: load(&sums.asked),
            slept: load(&sums.slept),
            polled: load(&sums.polled),
            cpu: load(&sums.cpu),
        }
    }

    #[inline(always)]
    pub(crate) fn store(self, group: &mut SimdGroup) {
        group.left.store(self.left);
        let sums = &mut group.sums;
        sums.misses.store(self.misses);
        sums.asked.store(self.asked);
        sums.slept.store(self.slept);
        sums.polled.store(self.polled);
        sums.cpu.store(self.cpu);
    }

    /// Adds one I/O; `asked` and `slept` are 0 for polling.
    #[inline(always)]
    pub(crate) fn add(
        self,
        io: &IoOutcome<S>,
        [asked, slept, cpu]: [i32x16<S>; 3],
        left: i32x16<S>,
    ) -> Self {
        let zero = i32x16::splat(left.token(), 0);
        RunningSums {
            left,
            misses: self.misses + io.clear.select(zero, zero + 1),
            asked: self.asked + asked,
            slept: self.slept + slept,
            polled: self.polled + io.clear.select(io.polled, zero),
            cpu: self.cpu + cpu,
        }
    }
}

#[derive(Clone, Copy)]
struct DrawnIo<S: Simd> {
    wait: i32x16<S>,
    sleeps: PricedSleeps<S>,
    slept: i32x16<S>,
    outcome: IoOutcome<S>,
    added_submit: i32x16<S>,
    left: i32x16<S>,
}

impl<S: Simd> DrawnIo<S> {
    #[inline(always)]
    fn new(
        simd: S,
        row: &BucketRow,
        input: &KernelInput,
        i: usize,
        hit: &LoadedLines<'_, S>,
        left: i32x16<S>,
    ) -> Self {
        let (piece, costs) = (&input.piece, &input.costs);
        let wait = i32x16::splat(simd, piece.wait[i]);
        let z = (
            f32x16::splat(simd, piece.z_clear[i]),
            f32x16::splat(simd, piece.z_hit[i]),
        );
        let sleeps = row.sleep.load(simd);
        let outcome = sleeps.outcomes(wait, z, hit, costs);
        // A negative addition, measured on longer submissions, must not turn a short one negative.
        let added_submit = if costs.gains {
            sleeps.added_submit.max(-piece.submit[i])
        } else {
            sleeps.added_submit
        };
        DrawnIo {
            wait,
            sleeps,
            slept: row.slept.load(simd),
            outcome,
            added_submit,
            left: left - outcome.observed - added_submit,
        }
    }
}

#[derive(Clone, Copy)]
struct DrawnSums<S: Simd> {
    running: RunningSums<S>,
    late: i32x16<S>,
    added_submit: i32x16<S>,
}

impl<S: Simd> DrawnSums<S> {
    #[inline(always)]
    fn load(simd: S, group: &SimdGroup) -> Self {
        DrawnSums {
            running: RunningSums::load(simd, group),
            late: group.sums.late.load(simd),
            added_submit: group.sums.added_submit.load(simd),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut SimdGroup) {
        self.running.store(group);
        group.sums.late.store(self.late);
        group.sums.added_submit.store(self.added_submit);
    }

    #[inline(always)]
    fn add(self, io: &DrawnIo<S>, gains: bool) -> Self {
        let (sleeps, outcome) = (&io.sleeps, &io.outcome);
        let cpu = outcome.cpu(sleeps.cpu_clear, sleeps.cpu_hit);
        let sums = [sleeps.asked, io.slept, cpu];
        DrawnSums {
            running: self.running.add(outcome, sums, io.left),
            late: if gains {
                self.late + (outcome.observed - io.wait).max(0)
            } else {
                self.late
            },
            added_submit: self.added_submit + io.added_submit,
        }
    }
}

#[inline(always)]
fn count_io<S: Simd>(
    histogram: &mut GroupHistogram,
    input: &KernelInput,
    i: usize,
    io: &DrawnIo<S>,
) {
    let piece = &input.piece;
    let latency = io.outcome.observed + io.added_submit + piece.submit[i];
    let (weight, counting) = (piece.weight[i], input.counting);
    match input.common_histogram {
        None => histogram.count(latency, weight, counting),
        Some(_) => {
            let recorded = piece.wait[i] + piece.submit[i];
            histogram.count_missed(!io.outcome.clear, latency, recorded, weight, counting);
        }
    }
}

#[inline(always)]
fn gather<S: Simd>(row: &mut BucketRow, statistic: WindowStatistic, observed: i32x16<S>) {
    let simd = observed.token();
    let before = row.statistic.load(simd);
    let after = match statistic {
        WindowStatistic::Mean => before + observed,
        WindowStatistic::Min => before.min(observed),
    };
    row.statistic.store(after);
    row.count.store(row.count.load(simd) + 1);
}

#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, group: &mut SimdGroup, input: &KernelInput) {
    let mut from = 0;
    while let Some(due) = run_until_event(simd, group, input, from) {
        run_io_with_events(simd, group, input, due);
        from = due + 1;
    }
}

/// Runs until an event is due: returns that I/O, not yet counted, or `None` at the end.
#[inline(always)]
fn run_until_event<S: Simd>(
    simd: S,
    group: &mut SimdGroup,
    input: &KernelInput,
    from: usize,
) -> Option<usize> {
    let piece = &input.piece;
    let hit = input.costs.hit.load(simd);
    let mut sums = DrawnSums::load(simd, group);
    let mut due = None;
    for i in from..piece.len() {
        let row = &mut group.rows[usize::from(piece.row[i])];
        let io = DrawnIo::new(simd, row, input, i, &hit, sums.running.left);
        let returned = i32x16::splat(simd, piece.returned[i]);
        if io.left.simd_le(returned).any_true() {
            due = Some(i);
            break;
        }
        sums = sums.add(&io, input.costs.gains);
        gather(row, group.statistic, io.outcome.observed);
        if let Some(histogram) = &mut group.histogram {
            count_io(histogram, input, i, &io);
        }
    }
    sums.store(group);
    due
}

#[inline(always)]
fn run_io_with_events<S: Simd>(simd: S, group: &mut SimdGroup, input: &KernelInput, i: usize) {
    let piece = &input.piece;
    let returned = i32x16::splat(simd, piece.returned[i]);
    let overdue = group.left.load(simd).simd_le(returned);
    for lane in set_bits(overdue.to_bitmask()) {
        group.prepare(simd, lane, i, input);
    }
    let hit = input.costs.hit.load(simd);
    let sums = DrawnSums::load(simd, group);
    let row = &mut group.rows[usize::from(piece.row[i])];
    let io = DrawnIo::new(simd, row, input, i, &hit, sums.running.left);
    let sums = sums.add(&io, input.costs.gains);
    let before = WindowBefore {
        statistic: row.statistic,
        count: row.count,
    };
    gather(row, group.statistic, io.outcome.observed);
    sums.store(group);
    if let Some(histogram) = &mut group.histogram {
        count_io(histogram, input, i, &io);
    }
    let due = io.left.simd_le(returned).to_bitmask();
    let observed = io.outcome.observed.to_array();
    group.complete(simd, due, i, &observed, &before, input);
}

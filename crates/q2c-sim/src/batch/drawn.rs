//! The general kernel of windowed rules and fixed sleeps: delays that are drawn per I/O, any number
//! of buckets, with or without percentiles.

use super::Around;
use super::costs::Costs;
use super::group::{Group, Held};
use super::histogram::Histogram;
use super::hit::Loaded;
use super::lanes::{Lanes, each};
use super::row::Row;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, mask32x16};
use q2c_policy::form::Statistic;

#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, lanes: &Lanes<i32>) -> i32x16<S> {
    i32x16::load_array_ref(simd, &lanes.0)
}

#[inline(always)]
fn load_f<S: Simd>(simd: S, lanes: &Lanes<f32>) -> f32x16<S> {
    f32x16::load_array_ref(simd, &lanes.0)
}

/// One I/O of the trace, each number in all lanes.
#[derive(Clone, Copy)]
struct Io<S: Simd> {
    wait: i32x16<S>,
    z_clear: f32x16<S>,
    z_hit: f32x16<S>,
}

impl<S: Simd> Io<S> {
    #[inline(always)]
    fn load(simd: S, around: &Around<'_>, i: usize) -> Self {
        let piece = around.piece;
        Io {
            wait: i32x16::splat(simd, piece.wait[i]),
            z_clear: f32x16::splat(simd, piece.z_clear[i]),
            z_hit: f32x16::splat(simd, piece.z_hit[i]),
        }
    }
}

/// How one I/O ended in each lane.
#[derive(Clone, Copy)]
struct Fate<S: Simd> {
    clear: mask32x16<S>,
    observed: i32x16<S>,
    /// The polled time of a clear I/O; without meaning for a hit one.
    rest: i32x16<S>,
}

impl<S: Simd> Fate<S> {
    #[inline(always)]
    fn of(io: Io<S>, row: &Row, hit: &Loaded<'_, S>, costs: &Costs) -> Self {
        let simd = io.wait.token();
        let drawn = load_f(simd, &row.wake) + load_f(simd, &row.spread) * io.z_clear;
        let (earliest, latest) = (load_f(simd, &row.earliest), load_f(simd, &row.latest));
        let wake: i32x16<S> = drawn.min(latest).max(earliest).to_int();
        let clear = io.wait.simd_gt(wake + load(simd, &row.ahead));
        let mut latency = io.wait + load(simd, &row.added);
        if costs.gains {
            latency = latency.max(0);
        }
        let observed = match clear.all_true() {
            true => latency,
            false => {
                let asked = load(simd, &row.asked);
                let x: f32x16<S> = (asked - latency).to_float();
                let late: i32x16<S> = (hit.delay(x, io.z_hit) + 0.5).to_int();
                let reaped = (asked + late).max(latency) + costs.reap;
                clear.select(latency, reaped)
            }
        };
        Fate {
            clear,
            observed,
            rest: latency - wake,
        }
    }
}

/// The lanes' time and sums, kept in registers between two events.
#[derive(Clone, Copy)]
struct Moving<S: Simd> {
    left: i32x16<S>,
    misses: i32x16<S>,
    asked: i32x16<S>,
    slept: i32x16<S>,
    polled: i32x16<S>,
    cpu: i32x16<S>,
    late: i32x16<S>,
    added: i32x16<S>,
}

impl<S: Simd> Moving<S> {
    #[inline(always)]
    fn load(simd: S, group: &Group) -> Self {
        let sums = &group.sums;
        Moving {
            left: load(simd, &group.left),
            misses: load(simd, &sums.misses),
            asked: load(simd, &sums.asked),
            slept: load(simd, &sums.slept),
            polled: load(simd, &sums.polled),
            cpu: load(simd, &sums.cpu),
            late: load(simd, &sums.late),
            added: load(simd, &sums.added),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut Group) {
        self.left.store_array(&mut group.left.0);
        let sums = &mut group.sums;
        self.misses.store_array(&mut sums.misses.0);
        self.asked.store_array(&mut sums.asked.0);
        self.slept.store_array(&mut sums.slept.0);
        self.polled.store_array(&mut sums.polled.0);
        self.cpu.store_array(&mut sums.cpu.0);
        self.late.store_array(&mut sums.late.0);
        self.added.store_array(&mut sums.added.0);
    }

    #[inline(always)]
    fn add(
        self,
        io: Io<S>,
        fate: &Fate<S>,
        row: &Row,
        left: i32x16<S>,
        submit: i32x16<S>,
        gains: bool,
    ) -> Self {
        let simd = left.token();
        let zero = i32x16::splat(simd, 0);
        let Fate {
            clear,
            observed,
            rest,
        } = *fate;
        let sleeping = clear.select(load(simd, &row.cpu_clear) + rest, load(simd, &row.cpu_hit));
        Moving {
            left,
            misses: self.misses + clear.select(zero, zero + 1),
            asked: self.asked + load(simd, &row.asked),
            slept: self.slept + load(simd, &row.slept),
            polled: self.polled + clear.select(rest, zero),
            cpu: self.cpu + sleeping.min(observed),
            late: match gains {
                true => self.late + (observed - io.wait).max(zero),
                false => self.late,
            },
            added: self.added + submit,
        }
    }
}

/// The time that the sleep adds to a submission of `recorded` ns. A gain that was measured on
/// longer submissions does not turn a short one negative.
#[inline(always)]
fn added<S: Simd>(simd: S, row: &Row, recorded: i32, costs: &Costs) -> i32x16<S> {
    let added = load(simd, &row.submit);
    match costs.gains {
        true => added.max(-recorded),
        false => added,
    }
}

/// Counts the latency of I/O `i` for percentiles.
#[inline(always)]
fn count<S: Simd>(
    histogram: &mut Histogram,
    around: &Around<'_>,
    i: usize,
    fate: &Fate<S>,
    submit: i32x16<S>,
) {
    let piece = around.piece;
    let latency = fate.observed + submit + piece.submit[i];
    let (weight, counting) = (piece.weight[i], around.counting);
    match around.common {
        None => histogram.count(latency, weight, counting),
        Some(_) => {
            let recorded = piece.wait[i] + piece.submit[i];
            histogram.count_missed(!fate.clear, latency, recorded, weight, counting);
        }
    }
}

/// Adds an observed time to the open window of the I/O's bucket.
#[inline(always)]
fn gather<S: Simd>(row: &mut Row, statistic: Statistic, observed: i32x16<S>) {
    let simd = observed.token();
    let held = load(simd, &row.statistic);
    let now = match statistic {
        Statistic::Mean => held + observed,
        Statistic::Min => held.min(observed),
    };
    now.store_array(&mut row.statistic.0);
    (load(simd, &row.count) + 1).store_array(&mut row.count.0);
}

/// Runs a group over a piece: I/Os without events in [`quiet`], the one with events in
/// [`eventful`].
#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, group: &mut Group, around: &Around<'_>) {
    let mut from = 0;
    while let Some(due) = quiet(simd, group, around, from) {
        eventful(simd, group, around, due);
        from = due + 1;
    }
}

/// Simulates I/Os from `from` on until an event is due. Returns that I/O, which is not yet counted,
/// or `None` at the piece's end.
#[inline(always)]
fn quiet<S: Simd>(simd: S, group: &mut Group, around: &Around<'_>, from: usize) -> Option<usize> {
    let piece = around.piece;
    let hit = around.hit.load(simd);
    let mut moving = Moving::load(simd, group);
    let mut due = None;
    for i in from..piece.len() {
        let io = Io::load(simd, around, i);
        let row = &mut group.rows[usize::from(piece.row[i])];
        let fate = Fate::of(io, row, &hit, around.costs);
        let submit = added(simd, row, piece.submit[i], around.costs);
        let left = moving.left - fate.observed - submit;
        if left
            .simd_le(i32x16::splat(simd, piece.returned[i]))
            .any_true()
        {
            due = Some(i);
            break;
        }
        moving = moving.add(io, &fate, row, left, submit, around.costs.gains);
        gather(row, group.statistic, fate.observed);
        if let Some(histogram) = &mut group.histogram {
            count(histogram, around, i, &fate, submit);
        }
    }
    moving.store(group);
    due
}

/// Simulates I/O `i` with the events that are due around it.
#[inline(always)]
fn eventful<S: Simd>(simd: S, group: &mut Group, around: &Around<'_>, i: usize) {
    let piece = around.piece;
    let returned = i32x16::splat(simd, piece.returned[i]);
    let overdue = load(simd, &group.left).simd_le(returned);
    for lane in each(overdue.to_bitmask()) {
        group.before(simd, lane, i, around);
    }
    let hit = around.hit.load(simd);
    let moving = Moving::load(simd, group);
    let io = Io::load(simd, around, i);
    let row = &mut group.rows[usize::from(piece.row[i])];
    let fate = Fate::of(io, row, &hit, around.costs);
    let submit = added(simd, row, piece.submit[i], around.costs);
    let left = moving.left - fate.observed - submit;
    let moving = moving.add(io, &fate, row, left, submit, around.costs.gains);
    let held = Held {
        statistic: row.statistic,
        count: row.count,
    };
    gather(row, group.statistic, fate.observed);
    moving.store(group);
    if let Some(histogram) = &mut group.histogram {
        count(histogram, around, i, &fate, submit);
    }
    let due = left.simd_le(returned).to_bitmask();
    let observed = fate.observed.to_array();
    group.after(simd, due, i, &observed, &held, around);
}

//! A stretch: I/Os of one lane during which no sleep changes, sixteen to a register.

use super::trace::{IoBuckets, LanePosition, LaneTrace};
use super::windows::Windows;
use super::{PolicyCounts, PolicyPass, SingleSimulator};
use crate::batch::drawn::IoOutcome;
use crate::batch::histogram::CountingLimit;
use crate::batch::lines::LoadedLines;
use crate::batch::priced::{PricedSleep, PricedSleeps};
use crate::batch::simd_lanes::{SIMD_LANES, SimdLanes};
use crate::batch::sums::Sums;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, mask32x16};
use q2c_model::Nanos;
use q2c_policy::{BUCKETS, Outcome};

/// I/Os from this time on, ns, are simulated singly: the sum of 16 shorter ones fits 32 bits.
const MAX_IO_NS: i32 = 1 << 26;
/// After this simulated time, ns, the open sums are closed, so that they fit into 32 bits.
const MAX_OPEN_NS: i64 = 1 << 29;

impl<S: Simd> PricedSleeps<S> {
    #[inline(always)]
    fn from_rows(simd: S, sleeps: &[PricedSleep; BUCKETS + 1], rows: &[u8]) -> Self {
        let lane_sleeps: [&PricedSleep; SIMD_LANES] =
            std::array::from_fn(|j| &sleeps[usize::from(rows[j])]);
        PricedSleeps {
            asked: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.asked)),
            wake: f32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.wake)),
            spread: f32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.spread)),
            earliest: f32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.earliest)),
            latest: f32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.latest)),
            clear_margin: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.clear_margin)),
            added_latency: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.added_latency)),
            added_submit: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.added_submit)),
            cpu_clear: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.cpu_clear)),
            cpu_hit: i32x16::load_array(simd, lane_sleeps.map(|sleep| sleep.cpu_hit)),
        }
    }
}

#[derive(Clone, Copy)]
struct Chunk<S: Simd> {
    wait: i32x16<S>,
    submit: i32x16<S>,
    gap: i32x16<S>,
    io: IoOutcome<S>,
}

impl<S: Simd> Chunk<S> {
    #[inline(always)]
    fn new(
        simd: S,
        lane: &LanePosition,
        trace: &LaneTrace<'_>,
        sleeps: &PricedSleeps<S>,
        hit: &LoadedLines<'_, S>,
        machine: &SingleSimulator<'_>,
    ) -> Self {
        let load = |times: &[f32]| -> i32x16<S> {
            let times = &times[lane.index..lane.index + SIMD_LANES];
            f32x16::from_slice(simd, times).to_int()
        };
        let (wait, recorded) = (load(trace.columns.wait), load(trace.columns.submit));
        let (clear_draws, hit_draws) = machine.draws.sixteen_draws(lane.draw);
        let z = (
            f32x16::from_slice(simd, clear_draws),
            f32x16::from_slice(simd, hit_draws),
        );
        Chunk {
            wait,
            submit: (recorded + sleeps.added_submit).max(0),
            gap: load(trace.columns.gap),
            io: sleeps.outcomes(wait, z, hit, &machine.costs),
        }
    }
}

/// Sums since the last call of [`OpenSums::close`], one per place in the register. Adding up the
/// places takes as long as some I/Os, and a window of a millisecond has few I/Os.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenSums {
    ios: i64,
    time: i64,
    /// Without `ios` and `interrupts`, which stay 0.
    columns: Sums<SimdLanes<i32>>,
}

impl OpenSums {
    pub(crate) fn close(&mut self) -> Sums {
        let OpenSums { ios, columns, .. } = std::mem::take(self);
        let sums = columns.map(|column| column.0.iter().map(|&n| i64::from(n)).sum());
        Sums { ios, ..sums }
    }
}

type StretchSums<S> = Sums<i32x16<S>>;

impl<S: Simd> StretchSums<S> {
    #[inline(always)]
    fn load(simd: S, open: &OpenSums) -> Self {
        open.columns.each_ref().map(
            #[inline(always)]
            |column| column.load(simd),
        )
    }

    #[inline(always)]
    fn store(self, open: &mut OpenSums) {
        open.columns = self.map(
            #[inline(always)]
            |numbers| SimdLanes(numbers.to_array()),
        );
    }

    #[inline(always)]
    fn add(
        self,
        chunk: &Chunk<S>,
        sleeps: &PricedSleeps<S>,
        included: mask32x16<S>,
        max_think: i32,
    ) -> Self {
        let zero = i32x16::splat(chunk.wait.token(), 0);
        let selected = |numbers: i32x16<S>| included.select(numbers, zero);
        let io = &chunk.io;
        Sums {
            misses: self.misses + selected(io.clear.select(zero, zero + 1)),
            asked: self.asked + selected(sleeps.asked),
            slept: self.slept + selected(sleeps.asked.min(1)),
            polled: self.polled + selected(io.clear.select(io.polled, zero)),
            cpu: self.cpu + selected(io.cpu(sleeps.cpu_clear, sleeps.cpu_hit)),
            late: self.late + selected((io.observed - chunk.wait).max(0)),
            observed: self.observed + selected(io.observed),
            waited: self.waited + selected(chunk.wait),
            submitted: self.submitted + selected(chunk.submit),
            thought: self.thought + selected(chunk.gap.min(max_think)),
            ..self
        }
    }
}

/// The statistics that a window gathers from a stretch whose I/Os all fall into one bucket.
#[derive(Clone, Copy)]
struct WindowSums<S: Simd> {
    mean: i32x16<S>,
    min: i32x16<S>,
    max: i32x16<S>,
    sum: i32x16<S>,
    misses: i32x16<S>,
    shortfall: i32x16<S>,
    misses_below: i32x16<S>,
}

impl<S: Simd> WindowSums<S> {
    #[inline(always)]
    fn new(simd: S, mean: Nanos) -> Self {
        let zero = i32x16::splat(simd, 0);
        WindowSums {
            mean: zero + mean.0.min(1 << 30) as i32,
            min: zero + i32::MAX,
            max: zero,
            sum: zero,
            misses: zero,
            shortfall: zero,
            misses_below: zero,
        }
    }

    #[inline(always)]
    fn add(self, chunk: &Chunk<S>, included: mask32x16<S>) -> Self {
        let zero = i32x16::splat(chunk.wait.token(), 0);
        let observed = included.select(chunk.io.observed, zero);
        let missed = included.select(chunk.io.clear.select(zero, zero + 1), zero);
        let below = included.select(self.mean - chunk.io.observed, zero).max(0);
        WindowSums {
            min: self
                .min
                .min(included.select(chunk.io.observed, zero + i32::MAX)),
            max: self.max.max(observed),
            sum: self.sum + observed,
            misses: self.misses + missed,
            shortfall: self.shortfall + below,
            misses_below: self.misses_below + below.simd_gt(0).select(missed, zero),
            ..self
        }
    }

    #[inline(always)]
    fn flush(&self, windows: &mut Windows, row: usize, ios: i64, last: (u64, u64)) {
        let gathered = &mut windows.gathered[row];
        let totals = &mut gathered.totals;
        totals.samples += ios as u64;
        // These three are at most the time of the stretch, which fits into 32 bits.
        totals.sum += self.sum.reduce_sum() as u64;
        totals.misses += self.misses.reduce_sum() as u64;
        totals.misses_below += self.misses_below.reduce_sum() as u64;
        let shortfalls = self.shortfall.to_array().map(|ns| ns as u64);
        totals.shortfall += shortfalls.iter().sum::<u64>();
        gathered.min = gathered.min.min(self.min.reduce_min() as u64);
        gathered.max = gathered.max.max(self.max.reduce_max() as u64);
        gathered.last = gathered.last.max(last);
    }
}

/// The number of I/Os that complete before `end` and begin before `limit`, and their time, ns.
#[inline(always)]
fn count_fitting<S: Simd>(chunk: &Chunk<S>, start: i64, end: i64, limit: i64) -> (usize, i64) {
    if !is_short(chunk) {
        return (0, 0);
    }
    let step = chunk.submit + chunk.io.observed + chunk.gap;
    let after_all = start + i64::from(step.reduce_sum());
    if after_all < end.min(limit) {
        return (SIMD_LANES, after_all - start);
    }
    let (steps, gaps) = (step.to_array(), chunk.gap.to_array());
    let mut now = start;
    for (n, (&step, &gap)) in steps.iter().zip(&gaps).enumerate() {
        if now >= limit || now + i64::from(step - gap) >= end {
            return (n, now - start);
        }
        now += i64::from(step);
    }
    (SIMD_LANES, now - start)
}

#[inline(always)]
fn is_short<S: Simd>(chunk: &Chunk<S>) -> bool {
    let longest = chunk.submit.max(chunk.io.observed).max(chunk.gap);
    let shortest = chunk.io.observed.min(chunk.gap);
    !(longest.simd_ge(MAX_IO_NS / 3).any_true() || shortest.simd_lt(0).any_true())
}

#[inline(always)]
fn count_latencies<S: Simd>(
    chunk: &Chunk<S>,
    n: usize,
    io: u64,
    counts: &mut PolicyCounts,
    counting: CountingLimit,
) {
    let latency = chunk.submit + chunk.io.observed;
    let above = latency.simd_ge(counting.limit).to_bitmask();
    let weights = CountingLimit::weights(io);
    let counted_lanes = (above | u64::from(weights.counted)) & ((1 << n) - 1);
    if counted_lanes == 0 {
        return;
    }
    let latency = latency.to_array();
    for j in crate::batch::simd_lanes::set_bits(counted_lanes) {
        let weight = if above >> j & 1 == 1 {
            1
        } else {
            weights.weight
        };
        counts.latencies.add(latency[j % SIMD_LANES], weight);
    }
}

#[inline(always)]
pub(super) fn run<S: Simd>(
    simd: S,
    windows: &mut Windows,
    lane: &mut LanePosition,
    end: i64,
    pass: &mut PolicyPass<'_>,
) {
    while run_part(simd, windows, lane, end, pass) {}
}

/// Runs for at most half of [`MAX_OPEN_NS`]; returns true if it stopped for that reason.
#[inline(always)]
fn run_part<S: Simd>(
    simd: S,
    windows: &mut Windows,
    lane: &mut LanePosition,
    end: i64,
    pass: &mut PolicyPass<'_>,
) -> bool {
    let PolicyPass { machine, counts } = pass;
    let trace = &machine.traces[lane.lane];
    let is_counted = lane.start >= machine.warm_up;
    let limit = if is_counted {
        machine.stop
    } else {
        machine.warm_up
    };
    let learns = !windows.gathered.is_empty();
    let hit = machine.costs.hit.load(simd);
    let only_row = trace.rows.only_row();
    let max_think = i32::try_from(trace.columns.max_think_cpu()).unwrap_or(i32::MAX);
    let mut sleeps = PricedSleeps::splat(simd, &windows.sleeps[only_row.unwrap_or(BUCKETS)]);
    if is_counted {
        counts.close_if_long();
    }
    let mut sums = StretchSums::load(simd, &counts.open_sums);
    let mean = windows.means[only_row.unwrap_or(BUCKETS)];
    let mut window = WindowSums::new(simd, mean);
    let bins = learns && windows.gathered[0].has_bins();
    // The shortfall of an I/O is at most the mean.
    let max_chunks = ((1 << 30) / (mean.0 + 1)).clamp(1, 1 << 30);
    let (start, ios_before) = (lane.start, lane.ios);
    let mut last = (0, 0);
    let mut chunks = 0;
    let mut was_cut = false;
    while lane.index + SIMD_LANES < trace.len() && lane.start < limit {
        if lane.start - start >= MAX_OPEN_NS / 2 || chunks == max_chunks {
            was_cut = true;
            break;
        }
        if let IoBuckets::PerIo(rows) = &trace.rows {
            sleeps = PricedSleeps::from_rows(simd, &windows.sleeps, &rows[lane.index..]);
        }
        let chunk = Chunk::new(simd, lane, trace, &sleeps, &hit, machine);
        let (n, time) = count_fitting(&chunk, lane.start, end, limit);
        // I/Os go one by one where weights change, so that it does not matter where sixteen begin.
        if n == 0 || CountingLimit::changes_within(lane.ios) {
            break;
        }
        let included = mask32x16::from_bitmask(simd, (1 << n) - 1);
        sums = sums.add(&chunk, &sleeps, included, max_think);
        if is_counted {
            count_latencies(&chunk, n, lane.ios, counts, machine.counting);
        }
        if learns && only_row.is_some() {
            window = window.add(&chunk, included);
            last = last_completion(&chunk, n, lane.start + time);
        }
        if learns && (only_row.is_none() || bins) {
            gather(windows, &chunk, n, lane, trace, only_row);
        }
        lane.start += time;
        lane.skip(n, trace);
        chunks += 1;
        if n < SIMD_LANES {
            break;
        }
    }
    let ios = (lane.ios - ios_before) as i64;
    if ios == 0 {
        return false;
    }
    if is_counted {
        sums.store(&mut counts.open_sums);
        counts.open_sums.ios += ios;
        counts.open_sums.time += lane.start - start;
    }
    if let (true, Some(row)) = (learns, only_row) {
        window.flush(windows, row, ios, last);
    }
    was_cut
}

/// Completion and observed time of the last of `n` I/Os, ns; `end` is its think time's end.
#[inline(always)]
fn last_completion<S: Simd>(chunk: &Chunk<S>, n: usize, end: i64) -> (u64, u64) {
    let last = (n - 1) % SIMD_LANES;
    let gap = i64::from(chunk.gap.to_array()[last]);
    (
        (end - gap) as u64,
        chunk.io.observed.to_array()[last] as u64,
    )
}

impl PolicyCounts {
    fn close_if_long(&mut self) {
        if self.open_sums.time >= MAX_OPEN_NS {
            self.sums += self.open_sums.close();
        }
    }
}

/// Adds `n` I/Os to the windows of their buckets or, if all have one bucket, to its bins only.
#[inline(always)]
fn gather<S: Simd>(
    windows: &mut Windows,
    chunk: &Chunk<S>,
    n: usize,
    lane: &LanePosition,
    trace: &LaneTrace<'_>,
    only_row: Option<usize>,
) {
    let observed = chunk.io.observed.to_array();
    if let Some(row) = only_row {
        let gathered = &mut windows.gathered[row];
        let latencies = observed.iter().take(n);
        latencies.for_each(|&ns| gathered.add_to_bins(Nanos(ns as u64)));
        return;
    }
    let clear = chunk.io.clear.to_bitmask();
    let (submit, gap) = (chunk.submit.to_array(), chunk.gap.to_array());
    let mut now = lane.start;
    for j in 0..n.min(SIMD_LANES) {
        now += i64::from(submit[j] + observed[j]);
        let row = trace.rows.row_of(lane.index + j);
        let outcome = Outcome::new(observed[j] as u64, clear >> j & 1 == 0);
        let mean = windows.means[row];
        windows.gathered[row].add(outcome, Nanos(now as u64), mean);
        now += i64::from(gap[j]);
    }
}

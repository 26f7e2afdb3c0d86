//! A group: sixteen configurations that advance together, and the code that all kernels share.
//!
//! A lane in this module is one configuration's place in the registers, not a submitting thread. A
//! kernel runs over the I/Os of a piece until an event is due in a lane. It then simulates that I/O
//! again with the events around it: [`SimdGroup::prepare`] handles those that are due when the
//! submission returns, [`SimdGroup::complete`] those that are due at the completion. At the
//! end of each piece [`SimdGroup::end_piece`] has to be called.

use super::costs::CostTables;
use super::histogram::GroupHistogram;
use super::pas::PasGroup;
use super::piece::Piece;
use super::publish::publish;
use super::row::BucketRow;
use super::simd_lanes::{SIMD_LANES, SimdLanes, set_bits};
use super::sums::Sums;
use super::{KernelInput, MAX_NS};
use crate::outcome::SimOutcome;
use fearless_simd::Simd;
use q2c_policy::BUCKETS;
use q2c_policy::form::{Sensitivity, WindowForm, WindowStatistic};

/// Sums since each lane's last flush; each stays below three times [`MAX_NS`].
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSums {
    pub misses: SimdLanes<i32>,
    pub asked: SimdLanes<i32>,
    pub slept: SimdLanes<i32>,
    pub polled: SimdLanes<i32>,
    pub cpu: SimdLanes<i32>,
    pub late: SimdLanes<i32>,
    pub added_submit: SimdLanes<i32>,
    /// Device times of hit I/Os; used by the plain kernel only.
    pub hit_waits: SimdLanes<i32>,
}

/// Sixteen configurations, their buckets and their sums. One task at a time works on a group.
pub(super) struct SimdGroup {
    pub lanes: [LaneState; SIMD_LANES],
    /// One row per bucket; the last row is for I/Os without a bucket, which are polled.
    pub rows: Box<[BucketRow; BUCKETS + 1]>,
    /// From the piece's start to the next event, less device and added times of I/Os so far, ns.
    /// The event is due once [`Piece::returned`] (submissions, think times) reaches this time.
    pub left: SimdLanes<i32>,
    pub sums: GroupSums,
    pub histogram: Option<GroupHistogram>,
    pub statistic: WindowStatistic,
    /// The share of `statistic` that each lane sleeps, in parts per billion.
    pub shares: SimdLanes<f64>,
    pub pas: Option<PasGroup>,
    /// True if every sum is kept, as for `pas`; the plain kernel derives most from a few.
    pub keeps_all_sums: bool,
    pub unfinished: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct WindowBefore {
    pub statistic: SimdLanes<i32>,
    pub count: SimdLanes<i32>,
}

impl SimdGroup {
    pub(crate) fn new(
        lanes: [LaneState; SIMD_LANES],
        statistic: WindowStatistic,
        with_histogram: bool,
    ) -> Self {
        let rows = vec![BucketRow::polling(); BUCKETS + 1].into_boxed_slice();
        let shares = std::array::from_fn(|lane| match lanes[lane].rule {
            LaneRule::Windowed(form) => form.parts_per_billion() as f64,
            _ => 0.0,
        });
        let unfinished = lanes.iter().filter(|l| l.stage != LaneStage::Done).count();
        SimdGroup {
            lanes,
            rows: rows.try_into().expect("of that length"),
            left: SimdLanes::default(),
            sums: GroupSums::default(),
            histogram: with_histogram.then(GroupHistogram::new),
            statistic,
            shares: SimdLanes(shares),
            pas: None,
            keeps_all_sums: false,
            unfinished: unfinished as u32,
        }
    }

    pub(crate) fn set_first_sleep<S: Simd>(&mut self, simd: S, lane: usize, costs: &CostTables) {
        let empty = empty_statistic(self.statistic);
        let sleep = match self.lanes[lane].rule {
            LaneRule::Constant(sleep) => sleep,
            _ => 0,
        };
        for row in self.rows.iter_mut() {
            row.set(simd, lane, sleep, costs, true);
            row.set(simd, lane, sleep, costs, false);
            row.statistic.0[lane] = empty;
        }
    }

    /// Start of the lane's next submission, ns of simulated time. Valid only between two pieces.
    pub(crate) fn now(&self, lane: usize) -> i64 {
        self.lanes[lane].event - i64::from(self.left.0[lane])
    }

    /// Fills in the columns that the plain kernel does not keep, so that another kernel can go on.
    pub(crate) fn complete_rows<S: Simd>(&mut self, simd: S, costs: &CostTables) {
        for row in self.rows.iter_mut() {
            for lane in 0..SIMD_LANES {
                row.set(simd, lane, row.sleep.asked.0[lane], costs, false);
            }
        }
    }

    fn return_time(&self, lane: usize, piece: &Piece, i: usize) -> i64 {
        self.lanes[lane].event + i64::from(piece.returned[i]) - i64::from(self.left.0[lane])
    }

    /// Handles events due when submission `i` has returned: stage changes and a window's end.
    #[inline(always)]
    pub(crate) fn prepare<S: Simd>(&mut self, simd: S, lane: usize, i: usize, input: &KernelInput) {
        let now = self.return_time(lane, &input.piece, i);
        let start = now - i64::from(input.piece.submit[i]);
        while self.lanes[lane].stage_end <= start {
            self.flush(lane, i, input);
            self.end_stage(lane, i, input);
        }
        let state = &mut self.lanes[lane];
        if state.end != IDLE && state.end <= now {
            state.end = IDLE;
            self.flush_if_due(lane, i, now, input);
            publish(simd, self, 1 << lane, input);
        }
    }

    /// Handles the events due at the completion of I/O `i` in the lanes of the bit set `due`. The
    /// I/O is already in its row; `before` is the window without it. A window that is over closes
    /// without this I/O, which then opens the next window.
    #[inline(always)]
    pub(crate) fn complete<S: Simd>(
        &mut self,
        simd: S,
        due: u64,
        i: usize,
        observed: &[i32; SIMD_LANES],
        before: &WindowBefore,
        input: &KernelInput,
    ) {
        let piece = &input.piece;
        let row = usize::from(piece.row[i]);
        let mut closing = 0;
        for lane in set_bits(due) {
            let now = self.return_time(lane, piece, i);
            self.flush_if_due(lane, i + 1, now, input);
            let state = &self.lanes[lane];
            if state.end <= now && state.end != IDLE {
                self.set_window(lane, row, before.statistic.0[lane], before.count.0[lane]);
                closing |= 1 << lane;
            }
        }
        if closing > 0 {
            publish(simd, self, closing, input);
        }
        for lane in set_bits(due) {
            let now = self.return_time(lane, piece, i);
            let state = &mut self.lanes[lane];
            if let LaneRule::Windowed(form) = state.rule
                && state.end <= now
            {
                state.opened = piece.ios_before + i as u64;
                state.end = now.saturating_add(form.period.0 as i64);
                self.set_window(lane, row, observed[lane], 1);
            }
            let moved = self.lanes[lane].set_next_event(now);
            self.left.0[lane] = (i64::from(self.left.0[lane]) + moved) as i32;
        }
    }

    #[inline(always)]
    fn set_window(&mut self, lane: usize, row: usize, statistic: i32, count: i32) {
        self.rows[row].statistic.0[lane] = statistic;
        self.rows[row].count.0[lane] = count;
    }

    #[cold]
    #[inline(never)]
    fn end_stage(&mut self, lane: usize, i: usize, input: &KernelInput) {
        let state = &mut self.lanes[lane];
        match state.stage {
            LaneStage::WarmUp => {
                state.stage = LaneStage::Counting;
                state.stage_end = input.stop;
                state.warmup = input.piece.sums_before(i, state.totals);
                if let Some(histogram) = &mut self.histogram {
                    histogram.clear(lane, input.common_counts(i).as_deref());
                }
            }
            LaneStage::Counting => {
                let wall = (input.stop - input.warm_up) as f64;
                self.conclude(lane, i, wall, input);
            }
            LaneStage::Done => state.stage_end = NEVER,
        }
    }

    /// Ends the counting of a lane before I/O `i`; `wall` is the simulated time counted, ns.
    pub(crate) fn conclude(&mut self, lane: usize, i: usize, wall: f64, input: &KernelInput) {
        let state = &mut self.lanes[lane];
        let counted = input.piece.sums_before(i, state.totals).since(state.warmup);
        let ranks = self.histogram.as_ref().map_or([0.0; 3], |h| {
            h.ranks(lane, counted.ios as u64, input.common_counts(i).as_deref())
        });
        if state.stage == LaneStage::Counting {
            state.outcome = counted.outcome(wall, 1, &input.costs, ranks);
        }
        (state.stage, state.rule) = (LaneStage::Done, LaneRule::Constant(0));
        (state.stage_end, state.end) = (NEVER, NEVER);
        self.unfinished -= 1;
    }

    /// Flushes a lane if its sums could outgrow 32 bits before the next event, or if they depend on
    /// a sleep that is about to change (the plain kernel).
    #[inline(always)]
    fn flush_if_due(&mut self, lane: usize, n: usize, now: i64, input: &KernelInput) {
        let long = now - self.lanes[lane].flushed_at > i64::from(MAX_NS / 2);
        if long || (input.only_row.is_some() && !self.keeps_all_sums) {
            self.lanes[lane].flushed_at = now;
            self.flush(lane, n, input);
        }
    }

    /// Adds a lane's sums over its I/Os since the last flush, before I/O `n`, to its totals.
    fn flush(&mut self, lane: usize, n: usize, input: &KernelInput) {
        let piece = &input.piece;
        let state = &mut self.lanes[lane];
        let time = state.event - piece.base - i64::from(self.left.0[lane]);
        let time = time - std::mem::replace(&mut state.flushed_time, time);
        let ios = piece.ios_before + n as u64;
        let ios = (ios - std::mem::replace(&mut state.flushed_ios, ios)) as i64;
        let waited = piece.waited[n] - std::mem::replace(&mut state.flushed_wait, piece.waited[n]);
        let (sums, totals) = (&mut self.sums, &mut state.totals);
        let take = |sum: &mut SimdLanes<i32>| i64::from(std::mem::take(&mut sum.0[lane]));
        let misses = take(&mut sums.misses);
        totals.misses += misses;
        match input.only_row {
            // These I/Os had one sleep and no draws, so that most sums follow from a few.
            Some(row) if !self.keeps_all_sums => {
                let row = &self.rows[row];
                let clear_waits = waited - take(&mut sums.hit_waits);
                let wake = i64::from(row.plain_wake.0[lane]);
                let cpu_less_wake = (i64::from(row.sleep.cpu_clear.0[lane]) - wake).min(0);
                let clear_ios = ios - misses;
                totals.asked += ios * i64::from(row.sleep.asked.0[lane]);
                totals.slept += ios * i64::from(row.slept.0[lane]);
                totals.polled += clear_waits - clear_ios * wake;
                totals.cpu += clear_waits + clear_ios * cpu_less_wake + take(&mut sums.cpu);
                totals.late += time - waited;
                totals.observed += time;
            }
            _ => {
                let (added, late) = (take(&mut sums.added_submit), take(&mut sums.late));
                let gains = input.costs.gains;
                totals.asked += take(&mut sums.asked);
                totals.slept += take(&mut sums.slept);
                totals.polled += take(&mut sums.polled);
                totals.cpu += take(&mut sums.cpu);
                totals.late += if gains { late } else { time - added - waited };
                totals.submitted += added;
                totals.observed += time - added;
            }
        }
    }

    /// Flushes every lane and makes its times count from the start of the next piece.
    pub(crate) fn end_piece(&mut self, input: &KernelInput) {
        let piece = &input.piece;
        for lane in 0..SIMD_LANES {
            self.flush(lane, piece.len(), input);
            if let Some(row) = input.only_row {
                super::plain::count(self, lane, row, piece.len(), input);
            }
            let left = i64::from(self.left.0[lane]) - piece.submit_and_think;
            // `left` has to fit into 32 bits; an overdue event stays due.
            let bounded = left.max(-i64::from(MAX_NS));
            self.lanes[lane].event += bounded - left;
            self.left.0[lane] = bounded as i32;
        }
    }
}

pub(super) fn empty_statistic(statistic: WindowStatistic) -> i32 {
    match statistic {
        WindowStatistic::Mean => 0,
        WindowStatistic::Min => i32::MAX,
    }
}

/// A time that never comes: the end of a window, or of a stage.
pub(super) const NEVER: i64 = i64::MAX;
/// [`LaneState::end`] without an open window: in the past, so that the next completion opens one.
pub(super) const IDLE: i64 = i64::MIN;

#[derive(Clone, Copy, Debug)]
pub(super) enum LaneRule {
    /// The sleep never changes, ns: a fixed sleep, an empty lane, or a lane that is done.
    Constant(i32),
    Windowed(WindowForm),
    Pas(Sensitivity),
}

impl LaneRule {
    /// The window's period, ns; 0 for a rule without windows.
    pub(crate) fn period(&self) -> u64 {
        match self {
            LaneRule::Windowed(form) => form.period.0,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LaneStage {
    WarmUp,
    Counting,
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct LaneState {
    pub rule: LaneRule,
    /// Time of the next event: the kernel stops at the first completion at or after it.
    pub event: i64,
    /// End of the open window; [`IDLE`] if none is open, [`NEVER`] for a rule without windows.
    pub end: i64,
    /// Time of the stage's end: the first submission that begins then or later changes it.
    pub stage_end: i64,
    pub stage: LaneStage,
    /// Number in the trace of the I/O that opened the window.
    pub opened: u64,
    pub flushed_ios: u64,
    /// A time at or before the last flush, by which the possible growth of the sums is judged.
    pub flushed_at: i64,
    pub flushed_time: i64,
    pub flushed_wait: i64,
    /// `submitted` holds only what sleeps added; `ios`, `waited`, `thought` are in the piece.
    pub totals: Sums,
    pub warmup: Sums,
    pub outcome: SimOutcome,
}

impl LaneState {
    pub(crate) fn new(rule: LaneRule, warm_up: i64) -> Self {
        LaneState {
            rule,
            event: 0,
            end: match rule {
                LaneRule::Windowed(_) => IDLE,
                _ => NEVER,
            },
            stage_end: warm_up,
            stage: LaneStage::WarmUp,
            opened: 0,
            flushed_ios: 0,
            flushed_at: 0,
            flushed_time: 0,
            flushed_wait: 0,
            totals: Sums::default(),
            warmup: Sums::default(),
            outcome: SimOutcome::default(),
        }
    }

    pub(crate) fn empty() -> Self {
        LaneState {
            stage: LaneStage::Done,
            ..LaneState::new(LaneRule::Constant(0), NEVER)
        }
    }

    /// Sets the next event, at most [`MAX_NS`] after `now`; returns how far it moved, ns.
    pub(crate) fn set_next_event(&mut self, now: i64) -> i64 {
        let next = self.end.min(self.stage_end).min(now + i64::from(MAX_NS));
        let moved = next - self.event;
        self.event = next;
        moved
    }
}

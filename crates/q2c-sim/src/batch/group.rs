//! A group: sixteen configurations that advance together, with all that the kernels have in common.
//!
//! A lane in this module is one configuration's place in the registers, not a submitting thread. A
//! kernel runs over the I/Os of a piece until an event is due in a lane. It then simulates that I/O
//! again with the events around it: [`SimdGroup::before`] handles those that are due when the
//! submission returns, [`SimdGroup::after`] those that are due at the completion. At the end of
//! each piece [`SimdGroup::leave`] has to be called.

use super::KernelInput;
use super::costs::CostTables;
use super::histogram::GroupHistogram;
use super::lane_state::{IDLE, LaneRule, LaneStage, LaneState, NEVER};
use super::pas::PasGroup;
use super::piece::Piece;
use super::publish::publish;
use super::row::BucketRow;
use super::simd_lanes::{SIMD_LANES, SimdLanes, each};
use super::totals::{BatchTotals, Snapshot};
use fearless_simd::Simd;
use q2c_policy::BUCKETS;
use q2c_policy::form::WindowStatistic;

/// Since each lane's last flush; each stays below three times [`FAR`](super::FAR).
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSums {
    pub misses: SimdLanes<i32>,
    pub asked: SimdLanes<i32>,
    pub slept: SimdLanes<i32>,
    pub polled: SimdLanes<i32>,
    pub cpu: SimdLanes<i32>,
    pub late: SimdLanes<i32>,
    pub added: SimdLanes<i32>,
    /// Device times of hit I/Os; used by the plain kernel only.
    pub hit_waits: SimdLanes<i32>,
}

/// Sixteen configurations, their buckets and their sums. One task at a time works on a group.
pub(super) struct SimdGroup {
    pub lanes: [LaneState; SIMD_LANES],
    /// One row per bucket; the last row is for I/Os without a bucket, which are polled.
    pub rows: Box<[BucketRow; BUCKETS + 1]>,
    /// The lane's event less the piece's begin and the time of its I/Os but for recorded
    /// submissions and think times: due when [`Piece::returned`] has reached it.
    pub left: SimdLanes<i32>,
    pub sums: GroupSums,
    pub histogram: Option<GroupHistogram>,
    pub statistic: WindowStatistic,
    /// The share of that statistic which each lane sleeps, in parts per billion.
    pub shares: SimdLanes<f64>,
    pub pas: Option<PasGroup>,
    /// Every sum is kept, as for `pas`; the plain kernel keeps those from which others follow.
    pub sums_all: bool,
    pub live: u32,
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
        histogram: bool,
    ) -> Self {
        let rows = vec![BucketRow::polling(); BUCKETS + 1].into_boxed_slice();
        let shares = std::array::from_fn(|lane| match lanes[lane].rule {
            LaneRule::Windowed(form) => form.parts_per_billion() as f64,
            _ => 0.0,
        });
        let live = lanes.iter().filter(|l| l.stage != LaneStage::Done).count();
        SimdGroup {
            lanes,
            rows: rows
                .try_into()
                .unwrap_or_else(|_| unreachable!("of that length")),
            left: SimdLanes::default(),
            sums: GroupSums::default(),
            histogram: histogram.then(GroupHistogram::new),
            statistic,
            shares: SimdLanes(shares),
            pas: None,
            sums_all: false,
            live: live as u32,
        }
    }

    pub(crate) fn start<S: Simd>(&mut self, simd: S, lane: usize, sleep: i32, costs: &CostTables) {
        let nothing = nothing(self.statistic);
        for row in self.rows.iter_mut() {
            row.set(simd, lane, sleep, costs, true);
            row.set(simd, lane, sleep, costs, false);
            row.statistic.0[lane] = nothing;
        }
    }

    /// When the lane's next submission begins, ns of simulated time. Valid between two pieces only.
    pub(crate) fn now(&self, lane: usize) -> i64 {
        self.lanes[lane].event - i64::from(self.left.0[lane])
    }

    /// Fills in the columns that the plain kernel does not keep, so that another kernel can go on.
    pub(crate) fn complete_rows<S: Simd>(&mut self, simd: S, costs: &CostTables) {
        for row in self.rows.iter_mut() {
            for lane in 0..SIMD_LANES {
                row.set(simd, lane, row.asked.0[lane], costs, false);
            }
        }
    }

    fn returned(&self, lane: usize, piece: &Piece, i: usize) -> i64 {
        self.lanes[lane].event + i64::from(piece.returned[i]) - i64::from(self.left.0[lane])
    }

    /// Events due when the submission of I/O `i` has returned: stages, and a window's end.
    #[inline(always)]
    pub(crate) fn before<S: Simd>(&mut self, simd: S, lane: usize, i: usize, input: &KernelInput) {
        let now = self.returned(lane, &input.piece, i);
        let start = now - i64::from(input.piece.submit[i]);
        while self.lanes[lane].mark <= start {
            self.flush(lane, i, input);
            self.turn(lane, i, input);
        }
        let state = &mut self.lanes[lane];
        if state.end != IDLE && state.end <= now {
            state.end = IDLE;
            self.flush_if_due(lane, i, now, input);
            publish(simd, self, 1 << lane, input);
        }
    }

    /// Events due in the lanes of `due` (a bit set) at the completion of I/O `i`, which is already
    /// in its row; `before` is the window without it. A window that is over closes without it, and
    /// it opens the next.
    #[inline(always)]
    pub(crate) fn after<S: Simd>(
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
        for lane in each(due) {
            let now = self.returned(lane, piece, i);
            self.flush_if_due(lane, i + 1, now, input);
            let state = &self.lanes[lane];
            if state.end <= now && state.end != IDLE {
                self.hold(lane, row, before.statistic.0[lane], before.count.0[lane]);
                closing |= 1 << lane;
            }
        }
        if closing > 0 {
            publish(simd, self, closing, input);
        }
        for lane in each(due) {
            let now = self.returned(lane, piece, i);
            let state = &mut self.lanes[lane];
            if let LaneRule::Windowed(form) = state.rule
                && state.end <= now
            {
                state.opened = piece.first + i as u64;
                state.end = now.saturating_add(form.period.0 as i64);
                self.hold(lane, row, observed[lane], 1);
            }
            let moved = self.lanes[lane].next_event(now);
            self.left.0[lane] = (i64::from(self.left.0[lane]) + moved) as i32;
        }
    }

    #[inline(always)]
    fn hold(&mut self, lane: usize, row: usize, statistic: i32, count: i32) {
        self.rows[row].statistic.0[lane] = statistic;
        self.rows[row].count.0[lane] = count;
    }

    #[cold]
    #[inline(never)]
    fn turn(&mut self, lane: usize, i: usize, input: &KernelInput) {
        let state = &mut self.lanes[lane];
        match state.stage {
            LaneStage::WarmUp => {
                state.stage = LaneStage::Counting;
                state.mark = input.stop;
                state.before = Snapshot::new(state.totals, &input.piece, i);
                if let Some(histogram) = &mut self.histogram {
                    histogram.clear(lane, input.common.as_ref(), &input.piece, i);
                }
            }
            LaneStage::Counting => {
                let wall = (input.stop - input.warm_up) as f64;
                self.conclude(lane, i, wall, input);
            }
            LaneStage::Done => state.mark = NEVER,
        }
    }

    /// Ends the counting of a lane before I/O `i`; `wall` is the simulated time counted, ns.
    pub(crate) fn conclude(&mut self, lane: usize, i: usize, wall: f64, input: &KernelInput) {
        let state = &mut self.lanes[lane];
        let now = Snapshot::new(state.totals, &input.piece, i);
        let ios = now.ios_since(&state.before);
        let ranks = self.histogram.as_ref().map_or([0.0; 3], |h| {
            h.ranks(lane, ios, input.common.as_ref(), &input.piece, i)
        });
        if state.stage == LaneStage::Counting {
            state.outcome = now.outcome(&state.before, wall, &input.costs, ranks);
        }
        (state.stage, state.rule) = (LaneStage::Done, LaneRule::Still);
        (state.mark, state.end) = (NEVER, NEVER);
        self.live -= 1;
    }

    /// Flushes a lane where its sums could outgrow 32 bits before the next event, or where they
    /// depend on the sleep that is about to change (the plain kernel).
    #[inline(always)]
    fn flush_if_due(&mut self, lane: usize, n: usize, now: i64, input: &KernelInput) {
        let long = now - self.lanes[lane].flushed_at > i64::from(super::FAR / 2);
        if long || (input.only.is_some() && !self.sums_all) {
            self.lanes[lane].flushed_at = now;
            self.flush(lane, n, input);
        }
    }

    fn flush(&mut self, lane: usize, n: usize, input: &KernelInput) {
        let piece = &input.piece;
        let state = &mut self.lanes[lane];
        let taken = state.event - piece.base - i64::from(self.left.0[lane]);
        let ios = piece.first + n as u64;
        let took = FlushSums {
            ios: (ios - state.flushed) as i64,
            time: taken - state.taken,
            waited: piece.waited[n] - state.waited,
        };
        (state.flushed, state.taken, state.waited) = (ios, taken, piece.waited[n]);
        match input.only {
            Some(row) if !self.sums_all => plain_totals(
                &mut state.totals,
                &mut self.sums,
                &self.rows[row],
                lane,
                took,
            ),
            _ => totals(
                &mut state.totals,
                &mut self.sums,
                lane,
                took,
                input.costs.gains,
            ),
        }
    }

    /// Flushes every lane; times then count from the next piece's start.
    pub(crate) fn leave(&mut self, input: &KernelInput) {
        let piece = &input.piece;
        for lane in 0..SIMD_LANES {
            self.flush(lane, piece.len(), input);
            if let Some(row) = input.only {
                super::plain::count(self, lane, row, piece.len(), input);
            }
            let left = i64::from(self.left.0[lane]) - piece.total;
            // `left` has to fit into 32 bits; an overdue event stays due.
            let kept = left.max(-i64::from(super::FAR));
            self.lanes[lane].event += kept - left;
            self.left.0[lane] = kept as i32;
        }
    }
}

pub(super) fn nothing(statistic: WindowStatistic) -> i32 {
    match statistic {
        WindowStatistic::Mean => 0,
        WindowStatistic::Min => i32::MAX,
    }
}

#[derive(Clone, Copy)]
struct FlushSums {
    ios: i64,
    time: i64,
    waited: i64,
}

fn take(sum: &mut SimdLanes<i32>, lane: usize) -> i64 {
    i64::from(std::mem::take(&mut sum.0[lane]))
}

fn totals(
    totals: &mut BatchTotals,
    sums: &mut GroupSums,
    lane: usize,
    took: FlushSums,
    gains: bool,
) {
    let added = take(&mut sums.added, lane);
    totals.misses += take(&mut sums.misses, lane);
    totals.asked += take(&mut sums.asked, lane);
    totals.slept += take(&mut sums.slept, lane);
    totals.polled += take(&mut sums.polled, lane);
    totals.cpu += take(&mut sums.cpu, lane);
    let late = take(&mut sums.late, lane);
    totals.late += if gains {
        late
    } else {
        took.time - added - took.waited
    };
    totals.added += added;
    totals.observed += took.time - added;
}

/// Since the last flush all I/Os had one sleep and no draws: most sums follow from a few.
fn plain_totals(
    totals: &mut BatchTotals,
    sums: &mut GroupSums,
    row: &BucketRow,
    lane: usize,
    took: FlushSums,
) {
    let misses = take(&mut sums.misses, lane);
    let hit_waits = take(&mut sums.hit_waits, lane);
    let hit_cpu = take(&mut sums.cpu, lane);
    let wake = i64::from(row.plain_wake.0[lane]);
    let clear_waits = took.waited - hit_waits;
    let clear = took.ios - misses;
    let sleeping = (i64::from(row.cpu_clear.0[lane]) - wake).min(0);
    totals.misses += misses;
    totals.asked += took.ios * i64::from(row.asked.0[lane]);
    totals.slept += took.ios * i64::from(row.slept.0[lane]);
    totals.polled += clear_waits - clear * wake;
    totals.cpu += clear_waits + clear * sleeping + hit_cpu;
    totals.late += took.time - took.waited;
    totals.observed += took.time;
}

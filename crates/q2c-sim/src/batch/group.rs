//! Sixteen configurations: what all kernels have in common.
//!
//! A kernel runs over the I/Os of a piece until a lane's event is due. That I/O it does again with the events around it:
//! [`Group::before`] what is due when the submission returns, [`Group::after`] what is due at the completion.

use super::Around;
use super::costs::Costs;
use super::histogram::Histogram;
use super::lane::{IDLE, Lane, NEVER, Rule, Stage};
use super::lanes::{LANES, Lanes, each};
use super::pas::Pas;
use super::piece::Piece;
use super::publish::publish;
use super::row::Row;
use super::totals::{Snapshot, Totals};
use fearless_simd::Simd;
use q2c_policy::BUCKETS;
use q2c_policy::form::Statistic;

/// Sums since each lane's last flush. Each is at most the time that passed, which stays below three times [`FAR`](super::FAR).
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub misses: Lanes<i32>,
    pub asked: Lanes<i32>,
    pub slept: Lanes<i32>,
    pub polled: Lanes<i32>,
    pub cpu: Lanes<i32>,
    pub late: Lanes<i32>,
    pub added: Lanes<i32>,
    /// Device times of hit I/Os; the plain kernel's only.
    pub hit_waits: Lanes<i32>,
}

/// Sixteen configurations.
pub(super) struct Group {
    pub lanes: [Lane; LANES],
    /// Per bucket; the last is for I/Os without one, which poll.
    pub rows: Box<[Row; BUCKETS + 1]>,
    /// An event is due when the I/O's return, if no I/O had taken time, has reached this.
    pub left: Lanes<i32>,
    pub sums: Sums,
    pub histogram: Option<Histogram>,
    /// What windows gather: all lanes the same.
    pub statistic: Statistic,
    /// Of it each lane sleeps, in parts per billion.
    pub shares: Lanes<f64>,
    /// The kernel's own state, for a group of `pas`.
    pub pas: Option<Pas>,
    /// Whether its kernel keeps every sum itself, also where the plain one would not.
    pub sums_all: bool,
    /// Lanes that are not done.
    pub live: u32,
}

/// What a row held before an I/O was added.
#[derive(Clone, Copy, Default)]
pub(super) struct Held {
    pub statistic: Lanes<i32>,
    pub count: Lanes<i32>,
}

impl Group {
    pub fn new(lanes: [Lane; LANES], statistic: Statistic, histogram: bool) -> Self {
        let rows = vec![Row::polling(); BUCKETS + 1].into_boxed_slice();
        let shares = std::array::from_fn(|lane| match lanes[lane].rule {
            Rule::Windowed(form) => form.parts_per_billion() as f64,
            _ => 0.0,
        });
        let live = lanes.iter().filter(|l| l.stage != Stage::Done).count();
        Group {
            lanes,
            rows: rows
                .try_into()
                .unwrap_or_else(|_| unreachable!("of that length")),
            left: Lanes::default(),
            sums: Sums::default(),
            histogram: histogram.then(Histogram::new),
            statistic,
            shares: Lanes(shares),
            pas: None,
            sums_all: false,
            live: live as u32,
        }
    }

    /// Lets a lane begin with this sleep, 0 to poll.
    pub fn start<S: Simd>(&mut self, simd: S, lane: usize, sleep: i32, costs: &Costs) {
        let nothing = nothing(self.statistic);
        for row in self.rows.iter_mut() {
            row.set(simd, lane, sleep, costs, true);
            row.set(simd, lane, sleep, costs, false);
            row.statistic.0[lane] = nothing;
        }
    }

    /// When the next submission begins, between two pieces.
    pub fn now(&self, lane: usize) -> i64 {
        self.lanes[lane].event - i64::from(self.left.0[lane])
    }

    /// Fills in what the plain kernel left out, for the others to go on.
    pub fn complete_rows<S: Simd>(&mut self, simd: S, costs: &Costs) {
        for row in self.rows.iter_mut() {
            for lane in 0..LANES {
                row.set(simd, lane, row.asked.0[lane], costs, false);
            }
        }
    }

    /// When the submission of I/O `i` returned.
    fn returned(&self, lane: usize, piece: &Piece, i: usize) -> i64 {
        self.lanes[lane].event + i64::from(piece.returned[i]) - i64::from(self.left.0[lane])
    }

    /// What is due when the submission of I/O `i` has returned.
    #[inline(always)]
    pub fn before<S: Simd>(&mut self, simd: S, lane: usize, i: usize, around: &Around<'_>) {
        let now = self.returned(lane, around.piece, i);
        let start = now - i64::from(around.piece.submit[i]);
        while self.lanes[lane].mark <= start {
            self.flush(lane, i, around);
            self.turn(lane, i, around);
        }
        let state = &mut self.lanes[lane];
        if state.end != IDLE && state.end <= now {
            state.end = IDLE;
            self.flush_if_due(lane, i, now, around);
            publish(simd, self, 1 << lane, around);
        }
    }

    /// What is due in the lanes of `due` at the completion of I/O `i`, which was added already; `held` is what its row held before.
    #[inline(always)]
    pub fn after<S: Simd>(
        &mut self,
        simd: S,
        due: u64,
        i: usize,
        observed: &[i32; LANES],
        held: &Held,
        around: &Around<'_>,
    ) {
        let piece = around.piece;
        let row = usize::from(piece.row[i]);
        let mut closing = 0;
        for lane in each(due) {
            let now = self.returned(lane, piece, i);
            self.flush_if_due(lane, i + 1, now, around);
            let state = &self.lanes[lane];
            if state.end <= now && state.end != IDLE {
                self.hold(lane, row, held.statistic.0[lane], held.count.0[lane]);
                closing |= 1 << lane;
            }
        }
        if closing > 0 {
            publish(simd, self, closing, around);
        }
        for lane in each(due) {
            let now = self.returned(lane, piece, i);
            let state = &mut self.lanes[lane];
            if let Rule::Windowed(form) = state.rule
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

    /// The next stage, from I/O `i` on.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, lane: usize, i: usize, around: &Around<'_>) {
        let state = &mut self.lanes[lane];
        match state.stage {
            Stage::WarmUp => {
                state.stage = Stage::Counting;
                state.mark = around.stop;
                state.before = Snapshot::new(state.totals, around.piece, i);
                if let Some(histogram) = &mut self.histogram {
                    histogram.clear(lane, around.common, around.piece, i);
                }
            }
            Stage::Counting => {
                let wall = (around.stop - around.warm_up) as f64;
                self.conclude(lane, i, wall, around);
            }
            Stage::Done => state.mark = NEVER,
        }
    }

    /// Ends the counting of a lane before I/O `i`.
    pub fn conclude(&mut self, lane: usize, i: usize, wall: f64, around: &Around<'_>) {
        let state = &mut self.lanes[lane];
        let now = Snapshot::new(state.totals, around.piece, i);
        let ios = now.ios_since(&state.before);
        let ranks = self.histogram.as_ref().map_or([0.0; 3], |h| {
            h.ranks(lane, ios, around.common, around.piece, i)
        });
        if state.stage == Stage::Counting {
            state.outcome = now.outcome(&state.before, wall, around.costs, ranks);
        }
        (state.stage, state.rule) = (Stage::Done, Rule::Still);
        (state.mark, state.end) = (NEVER, NEVER);
        self.live -= 1;
    }

    /// Flushes where sums could outgrow a lane before the next event, or depend on the sleep that is about to change.
    #[inline(always)]
    fn flush_if_due(&mut self, lane: usize, n: usize, now: i64, around: &Around<'_>) {
        let long = now - self.lanes[lane].flushed_at > i64::from(super::FAR / 2);
        if long || (around.only.is_some() && !self.sums_all) {
            self.lanes[lane].flushed_at = now;
            self.flush(lane, n, around);
        }
    }

    /// Moves a lane's sums before I/O `n` into its totals.
    fn flush(&mut self, lane: usize, n: usize, around: &Around<'_>) {
        let piece = around.piece;
        let state = &mut self.lanes[lane];
        let taken = state.event - piece.base - i64::from(self.left.0[lane]);
        let ios = piece.first + n as u64;
        let took = Took {
            ios: (ios - state.flushed) as i64,
            time: taken - state.taken,
            waited: piece.waited[n] - state.waited,
        };
        (state.flushed, state.taken, state.waited) = (ios, taken, piece.waited[n]);
        match around.only {
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
                around.costs.gains,
            ),
        }
    }

    /// Moves on to the next piece.
    pub fn leave(&mut self, around: &Around<'_>) {
        let piece = around.piece;
        for lane in 0..LANES {
            self.flush(lane, piece.len(), around);
            if let Some(row) = around.only {
                super::plain::count(self, lane, row, piece.len(), around);
            }
            let left = i64::from(self.left.0[lane]) - piece.total;
            // Long overdue: the event is put off to where it is due all the same.
            let kept = left.max(-i64::from(super::FAR));
            self.lanes[lane].event += kept - left;
            self.left.0[lane] = kept as i32;
        }
    }
}

/// A statistic of no completions.
pub(super) fn nothing(statistic: Statistic) -> i32 {
    match statistic {
        Statistic::Mean => 0,
        Statistic::Min => i32::MAX,
    }
}

/// What happened since the last flush.
#[derive(Clone, Copy)]
struct Took {
    ios: i64,
    /// Time but for recorded submissions and think times.
    time: i64,
    waited: i64,
}

fn take(sum: &mut Lanes<i32>, lane: usize) -> i64 {
    i64::from(std::mem::take(&mut sum.0[lane]))
}

fn totals(totals: &mut Totals, sums: &mut Sums, lane: usize, took: Took, gains: bool) {
    let added = take(&mut sums.added, lane);
    totals.misses += take(&mut sums.misses, lane);
    totals.asked += take(&mut sums.asked, lane);
    totals.slept += take(&mut sums.slept, lane);
    totals.polled += take(&mut sums.polled, lane);
    totals.cpu += take(&mut sums.cpu, lane);
    let late = take(&mut sums.late, lane);
    totals.late += match gains {
        true => late,
        false => took.time - added - took.waited,
    };
    totals.added += added;
    totals.observed += took.time - added;
}

/// All I/Os had the same sleep and nothing was drawn: most sums follow from few.
fn plain_totals(totals: &mut Totals, sums: &mut Sums, row: &Row, lane: usize, took: Took) {
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

//! The number of I/Os in flight over time.

use crate::state::{InexactMarks, StateError};
use q2c_result::analyze::{InexactFigure, InexactReason, TraceActivity, TraceInFlight};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Counts the I/Os in flight over time, with a heap of their completion times.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct InFlightSweep {
    ends: BinaryHeap<Reverse<u64>>,
    /// The time up to which everything is counted, ns; `None` before the first I/O.
    now: Option<u64>,
    start: Option<u64>,
    /// Completion times of the I/Os that were in flight before `start`.
    carried_ends: Vec<u64>,
    /// The integral of the number in flight over time, and the sum of latencies, ns: one figure
    /// counted in two ways.
    integral: u128,
    sum: u128,
    most: u64,
    /// Each new largest number in flight, with the time at which it was reached. I/Os of an earlier
    /// part can raise the maximum only at these times, because their number only falls.
    reached: Vec<(u64, u64)>,
    idle: IdleTime,
}

impl InFlightSweep {
    /// Adds an I/O. Returns the number in flight when it was queued, itself included.
    pub(crate) fn add(&mut self, from: u64, to: u64) -> u64 {
        let to = to.max(from);
        self.sum += u128::from(to - from);
        let now = self.now.unwrap_or_else(|| self.start_at(from));
        if from < now {
            // The I/O comes late: the sweep has passed its time before `now`, which is added here.
            self.integral += u128::from(to.min(now) - from);
            if to > now {
                self.ends.push(Reverse(to));
            }
        } else {
            self.advance(from);
            self.ends.push(Reverse(to));
        }
        let depth = self.ends.len() as u64;
        if depth > self.most {
            self.record_most(depth, now.max(from));
        }
        depth.max(1)
    }

    #[cold]
    fn start_at(&mut self, at: u64) -> u64 {
        (self.now, self.start) = (Some(at), Some(at));
        at
    }

    #[cold]
    fn record_most(&mut self, depth: u64, at: u64) {
        self.most = depth;
        self.reached.push((depth, at));
    }

    fn advance(&mut self, until: u64) {
        while let Some(&Reverse(end)) = self.ends.peek().filter(|end| end.0 <= until) {
            self.step(end);
            self.ends.pop();
        }
        self.step(until);
    }

    fn step(&mut self, to: u64) {
        let from = self.now.replace(to).unwrap_or(to);
        let depth = self.ends.len() as u64;
        self.integral += u128::from(depth) * u128::from(to - from);
        match depth {
            0 => self.idle.add_idle(to - from),
            _ => self.idle.add_active(to - from),
        }
    }

    /// Advances to the last completion.
    pub(crate) fn finish(&mut self) {
        while let Some(Reverse(end)) = self.ends.peek().copied() {
            self.step(end);
            self.ends.pop();
        }
    }

    pub(crate) fn in_flight(&self, span_ns: u64) -> TraceInFlight {
        TraceInFlight {
            sum_q2c_ns: self.sum,
            integral_ns: self.integral,
            mean: self.now.map(|_| match span_ns {
                0 => 0.0,
                span => self.integral as f64 / span as f64,
            }),
            most: self.now.map(|_| self.most),
        }
    }

    /// `None` if no I/O has both times.
    pub(crate) fn activity(&self) -> Option<TraceActivity> {
        self.now.map(|_| self.idle.activity())
    }

    pub(crate) fn check(&self) -> Result<(), StateError> {
        /// Far above any real sum, ns; leaves room to add further parts.
        const MAX_SUM: u128 = 1 << 120;
        if self.sum > MAX_SUM || self.integral > MAX_SUM {
            return Err(StateError::Counts);
        }
        let all_in_flight = self.ends.iter().all(|end| Some(end.0) >= self.now);
        all_in_flight.then_some(()).ok_or(StateError::InFlight)
    }

    /// A sweep that continues from here and has counted nothing yet.
    pub(crate) fn into_next(self) -> InFlightSweep {
        InFlightSweep {
            start: self.now,
            now: self.now,
            carried_ends: self.ends.iter().map(|end| end.0).collect(),
            ends: self.ends,
            ..InFlightSweep::default()
        }
    }

    /// The completion times of the I/Os in flight, in rising order.
    pub(crate) fn tail(&self) -> Vec<u64> {
        let mut ends: Vec<u64> = self.ends.iter().map(|end| end.0).collect();
        ends.sort_unstable();
        ends
    }

    /// Continues with a part that was counted separately, after its first I/Os were added to this
    /// sweep. `tail` holds the completion times of the I/Os in flight before these.
    pub(crate) fn join(&mut self, tail: &[u64], later: InFlightSweep, marks: &mut InexactMarks) {
        let Some(start) = later.start else { return };
        if self.now.is_none() {
            *self = later;
            return;
        }
        if self.now > Some(start) {
            marks.add(InexactFigure::MostInFlight, InexactReason::Order);
            marks.add(InexactFigure::Activity, InexactReason::Order);
            marks.add(InexactFigure::OverLoad, InexactReason::Order);
        } else {
            self.advance(start);
            if tail.last().is_some_and(|last| *last > start) {
                marks.add(InexactFigure::Activity, InexactReason::LongIo);
                marks.add(InexactFigure::OverLoad, InexactReason::LongIo);
            }
        }
        self.join_most(tail, &later.reached);
        self.join_integral(tail, start, &later);
        self.sum = self.sum.saturating_add(later.sum);
        self.idle.join(&later.idle);
        self.join_ends(tail, later);
    }

    fn join_most(&mut self, tail: &[u64], reached: &[(u64, u64)]) {
        for (depth, at) in reached {
            let ended = tail.partition_point(|end| end <= at);
            let with_tail = depth.saturating_add((tail.len() - ended) as u64);
            if with_tail > self.most {
                self.record_most(with_tail, *at);
            }
        }
    }

    /// Adds the later part's integral, and the time that is not counted yet: of the I/Os in `tail`
    /// after this sweep's `now`, and of the part's own I/Os in flight after its `now`.
    fn join_integral(&mut self, tail: &[u64], start: u64, later: &InFlightSweep) {
        let now = self.now.unwrap_or(start);
        let later_now = later.now.unwrap_or(start);
        let last = now.max(later_now);
        let lengths = |from: u64, ends: &mut dyn Iterator<Item = u64>, to: u64| -> u128 {
            ends.map(|end| u128::from(end.min(to).saturating_sub(from)))
                .sum()
        };
        // Both sides have counted these if the part begins before this sweep's `now`.
        let counted_twice = lengths(start, &mut later.carried_ends.iter().copied(), now);
        let of_tail = lengths(now, &mut tail.iter().copied(), last);
        let of_later = lengths(later_now, &mut later.ends.iter().map(|end| end.0), last);
        // `counted_twice` can exceed this sweep's own integral, because the part has counted it
        // too. So it is subtracted after the sums are added.
        for more in [later.integral, of_tail, of_later] {
            self.integral = self.integral.saturating_add(more);
        }
        self.integral = self.integral.saturating_sub(counted_twice);
    }

    fn join_ends(&mut self, tail: &[u64], later: InFlightSweep) {
        let now = self.now.max(later.now);
        let mut ends = later.ends;
        if now > later.now {
            ends.retain(|end| Some(end.0) > now);
        }
        let in_flight = tail.iter().filter(|end| Some(**end) > now);
        ends.extend(in_flight.map(|end| Reverse(*end)));
        (self.ends, self.now) = (ends, now);
    }

    /// Adds the I/Os of other devices. The caller leaves out figures that need one order of all
    /// I/Os.
    pub(crate) fn merge_devices(&mut self, mut other: InFlightSweep) {
        self.finish();
        other.finish();
        self.now = self.now.max(other.now);
        self.start = self.start.into_iter().chain(other.start).min();
        self.sum = self.sum.saturating_add(other.sum);
        self.integral = self.integral.saturating_add(other.integral);
    }
}

/// Sums active and idle time, and counts pauses. The pauses before the first and after the last I/O
/// in flight are kept apart, because a neighbouring part may extend them.
#[derive(Clone, Default, Serialize, Deserialize)]
struct IdleTime {
    /// Counts only pauses between two times with I/Os in flight.
    activity: TraceActivity,
    /// Length of the pause before the first I/O in flight, ns; `None` until there is one.
    first_pause: Option<u64>,
    /// Length of the pause that is under way, ns; 0 while an I/O is in flight.
    open_pause: u64,
}

impl IdleTime {
    fn add_idle(&mut self, ns: u64) {
        self.open_pause += ns;
        self.activity.idle_ns += ns;
    }

    /// An I/O was in flight for `ns`, which ends the pause before it, if there was one.
    fn add_active(&mut self, ns: u64) {
        if ns == 0 {
            return;
        }
        self.activity.active_ns += ns;
        if self.open_pause > 0 || self.first_pause.is_none() {
            self.end_pause();
        }
    }

    fn end_pause(&mut self) {
        let pause = std::mem::take(&mut self.open_pause);
        match self.first_pause {
            None => self.first_pause = Some(pause),
            Some(_) => count_pause(&mut self.activity, pause),
        }
    }

    fn join(&mut self, later: &IdleTime) {
        let (activity, more) = (&mut self.activity, &later.activity);
        activity.active_ns = activity.active_ns.saturating_add(more.active_ns);
        activity.idle_ns = activity.idle_ns.saturating_add(more.idle_ns);
        let first_pause = later.first_pause.unwrap_or(later.open_pause);
        self.open_pause = self.open_pause.saturating_add(first_pause);
        if later.first_pause.is_some() {
            self.end_pause();
            let activity = &mut self.activity;
            activity.pauses = activity.pauses.saturating_add(more.pauses);
            activity.longest_idle_ns = activity.longest_idle_ns.max(more.longest_idle_ns);
            self.open_pause = later.open_pause;
        }
    }

    /// The times of the whole trace, where the pause before the first I/O counts as well.
    fn activity(&self) -> TraceActivity {
        let mut activity = self.activity;
        count_pause(&mut activity, self.first_pause.unwrap_or(0));
        activity
    }
}

fn count_pause(activity: &mut TraceActivity, pause: u64) {
    let counts = u64::from(pause >= TraceActivity::PAUSE_NS);
    activity.pauses = activity.pauses.saturating_add(counts);
    activity.longest_idle_ns = activity.longest_idle_ns.max(pause);
}

use crate::run::crew::LaneWork;
use crate::run::thread::{PhasesResult, WaitState, read_mark};
use crate::time::sleep_unless_stopped;
use crate::{Activity, EngineFacts, EngineLane, JobPlan, Mark, PhaseData, Sample, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct RawSlice {
    pub lane: usize,
    pub number: u64,
    pub order: u64,
    pub data: PhaseData,
    pub samples: Vec<Sample>,
    pub facts: EngineFacts,
}

/// A lane's ends of the channels to and from the listener.
pub(super) struct LaneChannels<'a> {
    pub lane: usize,
    pub slice_ns: u64,
    /// This channel has room for every existing buffer, so a lane never waits here.
    pub out: SyncSender<RawSlice>,
    pub empty_buffers: Receiver<Vec<Sample>>,
    pub board: &'a Board,
}

/// The state at the begin of the current slice: the lane, its I/Os so far, the order in force.
struct SliceBegin {
    at: Mark,
    ios: u64,
    order: u64,
}

impl LaneWork for LaneChannels<'_> {
    /// Does I/O slice by slice from `begin` until the lane's `stop` is raised. The unfinished last
    /// slice is not handed over.
    fn run<T: Time>(self, lane: &mut EngineLane<'_, T>, job: JobPlan, begin: u64) -> PhasesResult {
        let facts = lane.engine.facts();
        let mut state = WaitState::default();
        let activities = job.activities.into_iter();
        activities.for_each(|activity| state.apply(activity));
        lane.carries_requests = true;
        sleep_unless_stopped(begin, lane.time, lane.stop);
        let (at, ios, order) = (read_mark(lane), 0, 0);
        let mut current = SliceBegin { at, ios, order };
        while !lane.stop.load(Ordering::Relaxed) {
            let number = self.slice_number(lane, begin);
            state.advance(lane, begin + (number + 1) * self.slice_ns)?;
            if lane.stop.load(Ordering::Relaxed) {
                break;
            }
            // Without an empty buffer the slice continues.
            let Ok(empty) = self.empty_buffers.try_recv() else {
                continue;
            };
            let next_number = self.slice_number(lane, begin);
            let order = self.board.take(self.lane, current.order, next_number);
            if !matches!(order, None | Some((_, Activity::Continue))) {
                state.drain(lane)?;
            }
            let next = SliceBegin {
                at: read_mark(lane),
                ios: lane.recorder.ios,
                order: order.as_ref().map_or(current.order, |&(number, _)| number),
            };
            let samples = lane.recorder.swap_samples(empty);
            let slice = self.slice(&current, &next, begin, samples, facts.clone());
            lane.time.send(&self.out, slice);
            current = next;
            if let Some((_, activity)) = order {
                state.apply(activity);
            }
        }
        state.drain(lane)?;
        Ok(Vec::new())
    }
}

impl LaneChannels<'_> {
    /// Number of the slice of time that it is now, from 0.
    fn slice_number<T: Time>(&self, lane: &EngineLane<'_, T>, begin: u64) -> u64 {
        lane.time.now().saturating_sub(begin) / self.slice_ns
    }

    fn slice(
        &self,
        from: &SliceBegin,
        to: &SliceBegin,
        begin: u64,
        samples: Vec<Sample>,
        facts: EngineFacts,
    ) -> RawSlice {
        RawSlice {
            lane: self.lane,
            number: (to.at.t_ns.saturating_sub(begin) / self.slice_ns).saturating_sub(1),
            order: from.order,
            data: PhaseData {
                begin: from.at,
                end: to.at,
                ios: to.ios - from.ios,
                samples: 0..samples.len(),
                tally: None,
            },
            samples,
            facts,
        }
    }
}

/// The place where the listener posts orders and lanes take them. A lane reads one atomic word per
/// slice, and locks only if that word has changed.
pub(super) struct Board {
    latest: AtomicU64,
    orders: Mutex<Orders>,
}

struct Orders {
    /// Number of the first slice for which the orders hold.
    from_slice: u64,
    activities: Vec<Activity>,
}

impl Board {
    pub(crate) fn new(lanes: usize) -> Self {
        Board {
            latest: AtomicU64::new(0),
            orders: Mutex::new(Orders {
                from_slice: 0,
                activities: (0..lanes).map(|_| Activity::Continue).collect(),
            }),
        }
    }

    /// Posts one activity for each lane, valid from slice `from_slice` on. Returns the order's
    /// number, which counts from 1. An activity that a lane has not taken yet is replaced, unless
    /// the new one is [`Activity::Continue`].
    pub(crate) fn post(&self, from_slice: u64, activities: Vec<Activity>) -> u64 {
        let mut orders = self.lock();
        orders.from_slice = from_slice;
        for (slot, new) in orders.activities.iter_mut().zip(activities) {
            if !matches!(new, Activity::Continue) {
                *slot = new;
            }
        }
        // Counted under the lock: a lane that sees the number also sees the order.
        self.latest.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The latest order for `lane`, with its number, if it holds for slice number `next` and is
    /// newer than `taken`, the number of the last order that the lane took.
    pub(crate) fn take(&self, lane: usize, taken: u64, next: u64) -> Option<(u64, Activity)> {
        if self.latest.load(Ordering::Acquire) == taken {
            return None;
        }
        let mut orders = self.lock();
        if next < orders.from_slice {
            return None;
        }
        let activity = std::mem::replace(&mut orders.activities[lane], Activity::Continue);
        Some((self.latest.load(Ordering::Acquire), activity))
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::Wait;

    fn poll() -> Activity {
        Activity::Start(Wait::Poll)
    }

    #[test]
    fn an_order_waits_for_its_slice_and_is_taken_once() {
        let board = Board::new(1);
        assert!(board.take(0, 0, 9).is_none(), "nothing was posted");
        assert_eq!(board.post(5, vec![poll()]), 1);
        assert!(board.take(0, 0, 4).is_none(), "too early");
        assert!(matches!(
            board.take(0, 0, 7),
            Some((1, Activity::Start(Wait::Poll)))
        ));
        assert!(board.take(0, 1, 8).is_none());
    }

    #[test]
    fn a_later_order_replaces_what_was_not_taken_and_leaves_the_rest() {
        let board = Board::new(2);
        board.post(1, vec![poll(), poll()]);
        board.post(2, vec![Activity::Continue, Activity::Idle]);
        assert!(board.take(0, 0, 1).is_none());
        assert!(matches!(board.take(0, 0, 2), Some((2, Activity::Start(_)))));
        assert!(matches!(board.take(1, 0, 2), Some((2, Activity::Idle))));
    }
}

use super::order::Board;
use crate::run::crew::LaneWork;
use crate::run::thread::{PhasesResult, WaitState, mark};
use crate::time::rest_until;
use crate::{Activity, EngineFacts, EngineLane, JobPlan, Mark, PhaseData, Sample, Time};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};

pub(super) struct RawSlice {
    pub lane: usize,
    pub number: u64,
    pub order: u64,
    pub data: PhaseData,
    pub samples: Vec<Sample>,
    pub facts: EngineFacts,
}

/// A lane's side of the channels to and from the listener.
pub(super) struct LaneChannels<'a> {
    pub lane: usize,
    pub slice_ns: u64,
    /// The channel has room for every buffer that exists, so a lane never waits here.
    pub out: SyncSender<RawSlice>,
    pub spare: Receiver<Vec<Sample>>,
    pub board: &'a Board,
}

/// The begin of the present slice: the lane's state, its I/Os so far, and the order in force.
struct SliceBegin {
    at: Mark,
    ios: u64,
    order: u64,
}

impl LaneWork for LaneChannels<'_> {
    /// Does I/O slice by slice from `begin` until the lane's `stop` is raised. The slice that is
    /// broken off then is not handed over.
    fn go<T: Time>(self, lane: &mut EngineLane<'_, T>, job: JobPlan, begin: u64) -> PhasesResult {
        let facts = lane.engine.facts();
        let mut state = WaitState::default();
        let activities = job.activities.into_iter();
        activities.for_each(|first| state.take(first));
        lane.carries = true;
        rest_until(begin, lane.time, lane.stop);
        let (at, ios, order) = (mark(lane), 0, 0);
        let mut open = SliceBegin { at, ios, order };
        while !lane.stop.load(Ordering::Relaxed) {
            let number = self.number(lane, begin);
            state.go_on(lane, begin + (number + 1) * self.slice_ns)?;
            if lane.stop.load(Ordering::Relaxed) {
                break;
            }
            // Without an empty buffer the slice goes on.
            let Ok(empty) = self.spare.try_recv() else {
                continue;
            };
            let next = self.number(lane, begin);
            let news = self.board.take(self.lane, open.order, next);
            if !matches!(news, None | Some((_, Activity::Continue))) {
                state.drain(lane)?;
            }
            let now = SliceBegin {
                at: mark(lane),
                ios: lane.recorder.ios(),
                order: news.as_ref().map_or(open.order, |&(order, _)| order),
            };
            let full = lane.recorder.swap(empty);
            let slice = self.slice(&open, &now, begin, full, facts.clone());
            lane.time.send(&self.out, slice);
            open = now;
            if let Some((_, activity)) = news {
                state.take(activity);
            }
        }
        state.drain(lane)?;
        Ok(Vec::new())
    }
}

impl LaneChannels<'_> {
    /// Number of the slice that contains the present time.
    fn number<T: Time>(&self, lane: &EngineLane<'_, T>, begin: u64) -> u64 {
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

use super::order::Board;
use crate::engine::EngineFacts;
use crate::lane::EngineLane;
use crate::rest::rest_until;
use crate::run::crew::LaneWork;
use crate::run::data::{Mark, PhaseData};
use crate::run::plan::{Activity, JobPlan};
use crate::run::thread::{PhasesResult, WaitState, mark};
use crate::sample::Sample;
use crate::time::Time;
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

impl LaneWork for LaneChannels<'_> {
    fn go<T: Time>(
        self,
        lane: &mut EngineLane<'_, T>,
        job: JobPlan,
        begin_ns: u64,
    ) -> PhasesResult {
        in_slices(lane, job, begin_ns, &self)
    }
}

/// The begin of the present slice: the lane's state, its I/Os so far, and the order in force.
struct SliceBegin {
    at: Mark,
    ios: u64,
    order: u64,
}

/// Does I/O slice by slice from `begin` until the lane's `stop` is raised. The slice that is broken
/// off then is not handed over.
fn in_slices<T: Time>(
    lane: &mut EngineLane<'_, T>,
    job: JobPlan,
    begin: u64,
    channels: &LaneChannels<'_>,
) -> PhasesResult {
    let facts = lane.engine.facts();
    let mut state = WaitState::default();
    job.activities
        .into_iter()
        .for_each(|first| state.take(first));
    lane.carries = true;
    rest_until(begin, lane.time, lane.stop);
    let (at, ios, order) = (mark(lane), 0, 0);
    let mut open = SliceBegin { at, ios, order };
    while !lane.stop.load(Ordering::Relaxed) {
        let number = channels.number(lane, begin);
        state.go_on(lane, begin + (number + 1) * channels.slice_ns)?;
        if lane.stop.load(Ordering::Relaxed) {
            break;
        }
        // Without an empty buffer the slice goes on.
        let Ok(empty) = channels.spare.try_recv() else {
            continue;
        };
        let next = channels.number(lane, begin);
        let news = channels.board.take(channels.lane, open.order, next);
        if !matches!(news, None | Some((_, Activity::Continue))) {
            state.drain(lane)?;
        }
        let now = SliceBegin {
            at: mark(lane),
            ios: lane.recorder.ios(),
            order: news.as_ref().map_or(open.order, |&(order, _)| order),
        };
        let full = lane.recorder.swap(empty);
        let slice = channels.slice(&open, &now, begin, full, facts.clone());
        lane.time.send(&channels.out, slice);
        open = now;
        news.into_iter()
            .for_each(|(_, activity)| state.take(activity));
    }
    state.drain(lane)?;
    Ok(Vec::new())
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

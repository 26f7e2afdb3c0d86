//! A lane while its trace is read.

use crate::dealing::RequestGroup;
use crate::recording::LaneRecording;
use q2c_model::Nanos;
use q2c_policy::Io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneGroup {
    User,
    Block(RequestGroup),
}

impl LaneGroup {
    pub(crate) const fn index(self) -> usize {
        match self {
            LaneGroup::User => 0,
            LaneGroup::Block(RequestGroup::Driven) => 1,
            LaneGroup::Block(RequestGroup::Queued) => 2,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct HeldLane {
    pub recording: LaneRecording,
    pub group: LaneGroup,
    pub number: u32,
    /// When the first I/O began and the last one was complete or reaped, ns.
    pub first: u64,
    pub done: u64,
}

impl HeldLane {
    pub(crate) fn new(group: LaneGroup, number: u32, first: u64) -> Self {
        HeldLane {
            recording: LaneRecording::default(),
            group,
            number,
            first,
            done: 0,
        }
    }

    /// Adds an I/O: its begin, the begin of its device time, and its end, ns.
    pub(crate) fn push(&mut self, io: Io, [begin, device, end]: [u64; 3]) {
        if let Some(gap) = self.recording.gap.last_mut() {
            *gap = begin.saturating_sub(self.done) as f32;
        }
        let (submit, wait) = (device.saturating_sub(begin), end.saturating_sub(device));
        self.recording.push(io, submit as f32, wait as f32, 0.0);
        self.done = end;
    }

    /// Sets the time before and after, so that the lane lasts from `first` to `last`.
    pub(crate) fn fit(&mut self, first: u64, last: u64) {
        self.recording.first_at = (self.first - first) as f64;
        self.recording.gap_cpu = Some(Nanos::ZERO);
        if let Some(gap) = self.recording.gap.last_mut() {
            *gap = (last - self.done) as f32;
        }
    }
}

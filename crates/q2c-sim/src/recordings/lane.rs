//! A lane while its trace is read, and sums over the lanes that are simulated together.

use crate::dealing::RequestGroup;
use crate::recording::LaneRecording;
use q2c_model::{DevId, Nanos};
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet};

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

#[derive(Clone, Debug, Default)]
pub(super) struct GroupTally {
    pub ios: u64,
    pub overlapping: u64,
    pub polled: u64,
    pub submission: u128,
    /// When the first I/O began and the last one ended, ns.
    pub span: Option<(u64, u64)>,
    pub sizes: BTreeSet<u32>,
    pub devices: BTreeMap<DevId, u64>,
    /// The device of the last I/O, whose `lately` I/Os are not in `devices` yet.
    pub device: DevId,
    pub lately: u64,
}

impl GroupTally {
    pub(crate) fn add(&mut self, io: Io, device: DevId, begin: u64, end: u64) {
        self.ios += 1;
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        self.sizes.insert(io.bytes);
        if device != self.device {
            self.count_device();
            self.device = device;
        }
        self.lately += 1;
    }

    pub(crate) fn count_device(&mut self) {
        if self.lately > 0 {
            *self.devices.entry(self.device).or_default() += self.lately;
            self.lately = 0;
        }
    }
}

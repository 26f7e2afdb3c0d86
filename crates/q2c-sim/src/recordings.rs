//! Collects the lanes of a trace while it is read.

mod selection;

pub use selection::LaneSelection;

use crate::dealing::{Dealing, DealtLane, DealtRequest, PendingRequests, RequestGroup};
use crate::recording::LaneRecording;
use q2c_model::{DevId, DeviceTime, IoRecord, LanesBy, Layer, LeftOutReason, Nanos};
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The part of a trace to take, and how to read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions {
    /// The interval of the block layer that is the device time. `None` means the wait of the user
    /// layer, else D2C, else Q2C.
    pub latency: Option<DeviceTime>,
    /// The owners of the lanes of a block-layer trace; `None` means its threads.
    pub lanes: Option<LanesBy>,
    /// The only device whose requests are taken; `None` for all devices.
    pub device: Option<DevId>,
}

/// Collects the lanes of a trace while it is read. A user-layer trace has the lanes of its program;
/// for the block layer, each thread or device gets as many lanes of depth 1 as it had requests in
/// flight. There the time before the device time is the submission, and the time from a completion
/// to the lane's next request is idle think time. A lane begins with its first request; all end
/// with the trace.
///
/// Call [`take`](Self::take) for the records in order, then [`finish`](Self::finish). For a trace
/// larger than memory, call [`drain`](Self::drain) in between, then
/// [`select_lanes`](Self::select_lanes) and `drain`.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    options: TraceOptions,
    lanes: Vec<CollectedLane>,
    records: u64,
    completed: u64,
    user: UserLanes,
    dealing: Dealing,
    pending: PendingRequests,
    tallies: [GroupTally; 3],
    left_out: [BTreeMap<LeftOutReason, u64>; 2],
    other_times: BTreeSet<DeviceTime>,
}

#[derive(Clone, Debug, Default)]
struct UserLanes {
    /// Index of each lane by its number. Numbers may be any, so memory grows with those that occur.
    indices: HashMap<u32, usize>,
    last_lane: Option<(u32, usize)>,
    slept_ios: u64,
    overlapping_lane: Option<u32>,
}

impl Recordings {
    /// Collects the lanes that `options` asks for.
    pub fn new(options: TraceOptions) -> Self {
        Recordings {
            options,
            dealing: Dealing {
                by: options.lanes.unwrap_or_default(),
                ..Dealing::default()
            },
            ..Recordings::default()
        }
    }

    /// Takes the next records of the trace.
    pub fn take(&mut self, records: &[IoRecord]) {
        self.records += records.len() as u64;
        for record in records {
            let is_complete = match record.layer {
                Layer::User => record.reap_ns.is_some() && record.submit_ns.is_some(),
                Layer::Block => record.complete_ns.is_some(),
            };
            self.completed += u64::from(is_complete);
            let taken = match (self.options.device, record.layer) {
                (Some(only), _) if only != record.device => Err(LeftOutReason::OtherDevice),
                (_, Layer::User) => self.take_user(record),
                (_, Layer::Block) => self.take_block(record),
            };
            if let Err(reason) = taken {
                let left_out = &mut self.left_out[record.layer as usize];
                *left_out.entry(reason).or_default() += 1;
                if reason == LeftOutReason::NoBegin {
                    let times = DeviceTime::BLOCK.into_iter();
                    let known = times.filter(|time| time.begin(record).is_some());
                    self.other_times.extend(known);
                }
            }
        }
    }

    fn take_user(&mut self, record: &IoRecord) -> Result<(), LeftOutReason> {
        self.user.slept_ios += u64::from(record.slept_ns.is_some());
        let times = record.submit_ns.zip(record.reap_ns);
        let (submit, reap) = times.ok_or(LeftOutReason::NoCompletion)?;
        if record.error.unwrap_or(0) != 0 {
            return Err(LeftOutReason::Failed);
        }
        if record.is_untimed() {
            return Err(LeftOutReason::Disordered);
        }
        // Without the submission's end, the latency counts from the submission's start.
        let end = record.submit_end_ns.unwrap_or(submit);
        let index = self.user_lane(record.lane, submit.0);
        let lane = &mut self.lanes[index];
        if !lane.recording.is_empty() && submit.0 < lane.end {
            self.user.overlapping_lane = self.user.overlapping_lane.or(Some(record.lane));
        }
        let io = Io {
            direction: record.op.direction(),
            bytes: record.bytes.0 as u32,
        };
        lane.push(io, [submit.0, end.0, reap.0]);
        let tally = &mut self.tallies[LaneGroup::User.index()];
        tally.submission_ns += u128::from((end - submit).0);
        tally.add(io, record.device, submit.0, reap.0);
        Ok(())
    }

    fn user_lane(&mut self, number: u32, begin: u64) -> usize {
        if let Some((_, index)) = self.user.last_lane.filter(|(lane, _)| *lane == number) {
            return index;
        }
        let next = self.lanes.len();
        let index = *self.user.indices.entry(number).or_insert(next);
        if index == next {
            let group = LaneGroup::User;
            self.lanes.push(CollectedLane::new(group, number, begin));
        }
        self.user.last_lane = Some((number, index));
        index
    }

    fn take_block(&mut self, record: &IoRecord) -> Result<(), LeftOutReason> {
        if let Some(carrier) = record.merged_into {
            self.pending.merge(carrier, record.bytes.0);
            return Err(LeftOutReason::Merged);
        }
        self.pending
            .push(DealtRequest::from_record(record, self.options.latency)?);
        self.deal(false);
        Ok(())
    }

    fn deal(&mut self, all: bool) {
        while let Some(request) = self.pending.pop(all) {
            let group = LaneGroup::Block(request.group);
            let next = self.lanes.len();
            let DealtLane { lane, overlaps } = self.dealing.deal(&request, next);
            if lane == next {
                self.lanes.push(CollectedLane::new(group, 0, request.begin));
            }
            let times = [request.begin, request.device_begin, request.end];
            self.lanes[lane].push(request.io, times);
            let tally = &mut self.tallies[group.index()];
            tally.overlapping += u64::from(overlaps);
            tally.polled += u64::from(request.polled);
            tally.submission_ns += u128::from(request.device_begin - request.begin);
            tally.add(request.io, request.device, request.begin, request.end);
        }
    }

    /// Number of I/Os in memory, all lanes together.
    pub fn ios_in_memory(&self) -> usize {
        let lanes = self.lanes.iter().map(|lane| lane.recording.len());
        lanes.sum::<usize>() + self.pending.requests.len()
    }

    /// Passes these I/Os to `to`, with the index of their lane. The last I/O of each lane stays,
    /// because its think time is not known before the next one; with `all` it is passed too.
    ///
    /// # Errors
    /// Whatever error `to` returns.
    pub fn drain<E>(
        &mut self,
        all: bool,
        to: &mut dyn FnMut(usize, &LaneRecording) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let ios = lane.recording.take_except_last(usize::from(!all));
            if !ios.is_empty() {
                to(index, &ios)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneGroup {
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
struct CollectedLane {
    pub recording: LaneRecording,
    pub group: LaneGroup,
    pub number: u32,
    /// The begin of the first I/O and the completion or reaping of the last, ns.
    pub begin: u64,
    pub end: u64,
}

impl CollectedLane {
    pub(crate) fn new(group: LaneGroup, number: u32, begin: u64) -> Self {
        CollectedLane {
            recording: LaneRecording::default(),
            group,
            number,
            begin,
            end: 0,
        }
    }

    /// Adds an I/O by its times: begin, begin of the device time, end, ns.
    pub(crate) fn push(&mut self, io: Io, [begin, device, end]: [u64; 3]) {
        if let Some(gap) = self.recording.gap.last_mut() {
            *gap = begin.saturating_sub(self.end) as f32;
        }
        let (submit, wait) = (device.saturating_sub(begin), end.saturating_sub(device));
        self.recording.push(io, submit as f32, wait as f32, 0.0);
        self.end = end;
    }

    /// Sets the times before and after the I/Os, so that the lane lasts from `begin` to `end`.
    pub(crate) fn set_span(&mut self, begin: u64, end: u64) {
        self.recording.first_at = (self.begin - begin) as f64;
        self.recording.gap_cpu = Some(Nanos::ZERO);
        if let Some(gap) = self.recording.gap.last_mut() {
            *gap = (end - self.end) as f32;
        }
    }
}

#[derive(Clone, Debug, Default)]
struct GroupTally {
    pub ios: u64,
    pub overlapping: u64,
    pub polled: u64,
    pub submission_ns: u128,
    /// The begin of the first I/O and the end of the last, ns.
    pub span: Option<(u64, u64)>,
    pub sizes: BTreeSet<u32>,
    pub devices: BTreeMap<DevId, u64>,
    /// The device of the last I/O; its `uncounted` newest I/Os are not in `devices` yet.
    pub last_device: DevId,
    pub uncounted: u64,
}

impl GroupTally {
    pub(crate) fn add(&mut self, io: Io, device: DevId, begin: u64, end: u64) {
        self.ios += 1;
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        self.sizes.insert(io.bytes);
        if device != self.last_device {
            self.count_device();
            self.last_device = device;
        }
        self.uncounted += 1;
    }

    pub(crate) fn count_device(&mut self) {
        if self.uncounted > 0 {
            *self.devices.entry(self.last_device).or_default() += self.uncounted;
            self.uncounted = 0;
        }
    }
}

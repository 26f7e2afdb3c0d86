//! Deals the overlapping requests of a thread or a device to lanes of depth 1.

use q2c_model::{DevId, DeviceTime, IoRecord, LanesBy, LeftOutReason, Nanos, Op, OpFlags};
use q2c_policy::Io;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Requests with and without a hand-over to a driver; the two groups never share a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestGroup {
    /// The requests have a D event.
    Driven,
    /// No D event: stacked devices, and formats that record only the begin and the end.
    Queued,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DealtRequest {
    id: u64,
    pub group: RequestGroup,
    pub io: Io,
    pub device: DevId,
    pub polled: bool,
    thread: u32,
    /// The first time in the record; all times in ns.
    pub begin: u64,
    pub device_begin: u64,
    pub end: u64,
    mergeable_until: u64,
}

impl DealtRequest {
    /// Returns the reason if it is left out. Without `asked` the device time is D2C, else Q2C.
    pub(crate) fn from_record(
        record: &IoRecord,
        asked: Option<DeviceTime>,
    ) -> Result<DealtRequest, LeftOutReason> {
        let end = record.complete_ns.ok_or(LeftOutReason::NoCompletion)?;
        if record.error.unwrap_or(0) != 0 {
            return Err(LeftOutReason::Failed);
        }
        if !matches!(record.op, Op::Read | Op::Write) {
            return Err(LeftOutReason::NeitherReadNorWrite);
        }
        let (group, default_time) = match record.issue_ns {
            Some(_) => (RequestGroup::Driven, DeviceTime::D2c),
            None => (RequestGroup::Queued, DeviceTime::Q2c),
        };
        let device_begin = asked.unwrap_or(default_time).begin(record);
        let device_begin = device_begin.ok_or(LeftOutReason::NoBegin)?;
        let begin = first_time(record).ok_or(LeftOutReason::NoBegin)?;
        if record.is_untimed() || device_begin > end || begin > device_begin {
            return Err(LeftOutReason::Disordered);
        }
        Ok(DealtRequest {
            id: record.id,
            group,
            io: Io {
                direction: record.op.direction(),
                bytes: u32::try_from(record.bytes.0).unwrap_or(u32::MAX),
            },
            device: record.device,
            polled: record.flags.contains(OpFlags::POLLED),
            thread: record.lane,
            begin: begin.0,
            device_begin: device_begin.0,
            end: end.0,
            mergeable_until: record.issue_ns.unwrap_or(begin).0,
        })
    }
}

fn first_time(record: &IoRecord) -> Option<Nanos> {
    let times = [record.queue_ns, record.getrq_ns, record.insert_ns];
    times.into_iter().flatten().next().or(record.issue_ns)
}

/// Requests in the order of their begins. Each is held until the trace has reached its hand-over
/// time, after which no other I/O can be merged into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingRequests {
    pub requests: VecDeque<DealtRequest>,
    newest_begin: u64,
    /// Id of the first request that begins before an earlier one in the trace.
    pub unsorted: Option<u64>,
}

impl PendingRequests {
    pub(crate) fn push(&mut self, request: DealtRequest) {
        if request.begin < self.newest_begin {
            self.unsorted = self.unsorted.or(Some(request.id));
        }
        self.newest_begin = self.newest_begin.max(request.begin);
        self.requests.push_back(request);
    }

    pub(crate) fn merge(&mut self, into: u64, bytes: u64) {
        let carrier = self.requests.iter_mut().rev().find(|r| r.id == into);
        if let Some(carrier) = carrier {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            carrier.io.bytes = carrier.io.bytes.saturating_add(bytes);
        }
    }

    /// The next request into which no more I/Os can be merged; with `all`, any request.
    pub(crate) fn pop(&mut self, all: bool) -> Option<DealtRequest> {
        let is_final = |request: &&DealtRequest| all || request.mergeable_until < self.newest_begin;
        self.requests.front().filter(is_final)?;
        self.requests.pop_front()
    }
}

/// Lanes of depth 1 for the requests of a thread or a device. A request gets the lowest free lane
/// at its begin, else a new one. A lane is free from its last completion on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dealing {
    pub by: LanesBy,
    pub owners: HashMap<(RequestGroup, u64), LaneOwner>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LaneOwner {
    busy: BinaryHeap<Reverse<(u64, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
}

pub(crate) struct DealtLane {
    /// Index of the lane; if none was free, of the lane to open.
    pub lane: usize,
    /// True if other requests of the thread or device were in flight.
    pub overlaps: bool,
}

impl Dealing {
    fn owner(&mut self, request: &DealtRequest) -> &mut LaneOwner {
        let DevId { major, minor } = request.device;
        let number = match self.by {
            LanesBy::Thread => u64::from(request.thread),
            LanesBy::Device => u64::from(major) << 32 | u64::from(minor),
        };
        self.owners.entry((request.group, number)).or_default()
    }

    /// Chooses a lane for `request`; `new_lane` is the index of the lane to open if none is free.
    pub(crate) fn deal(&mut self, request: &DealtRequest, new_lane: usize) -> DealtLane {
        let owner = self.owner(request);
        while let Some(Reverse((end, lane))) = owner.busy.peek().copied() {
            if end > request.begin {
                break;
            }
            owner.busy.pop();
            owner.free.push(Reverse(lane));
        }
        let overlaps = !owner.busy.is_empty();
        let lane = owner.free.pop().map_or(new_lane, |Reverse(lane)| lane);
        owner.busy.push(Reverse((request.end, lane)));
        DealtLane { lane, overlaps }
    }

    pub(crate) fn owners(&self, group: RequestGroup) -> usize {
        let owners = self.owners.keys();
        owners.filter(|(owned, _)| *owned == group).count()
    }
}

//! An I/O without text, small enough to copy. Matching makes spans and analysis takes them, without
//! an allocation.

use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};
use serde::{Deserialize, Serialize};

/// Stands for a time, number or id that the source lacks.
pub const NONE: u64 = u64::MAX;
/// [`NONE`] for fields of 32 bits.
pub const NONE_32: u32 = u32::MAX;

/// One I/O of the block layer or of a program. Times are ns on one clock; [`NONE`] if unknown or if
/// the I/O's layer has no such time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Unique in the trace; rises in the order in which I/Os first appear.
    pub id: u64,
    /// The layer in which the times were taken.
    pub layer: Layer,
    /// The device that the I/O was for.
    pub device: DevId,
    /// Operation of the I/O.
    pub op: Op,
    /// Properties of the I/O, such as sync or FUA, and whether it was polled.
    pub flags: OpFlags,
    /// First sector (512 B).
    pub sector: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// Start of the I/O. Block layer: when it was queued (Q). User layer: just before the
    /// submitting call.
    pub begin_ns: u64,
    /// User layer: when the submitting call returned.
    pub submit_end_ns: u64,
    /// Block layer: time of G. If `merged_into` is set, time of M: when the I/O joined another
    /// request.
    pub getrq_ns: u64,
    /// Block layer: time of I, the insertion into the scheduler.
    pub insert_ns: u64,
    /// Block layer: time of D; the last one if the request was requeued.
    pub issue_ns: u64,
    /// End of the I/O. Block layer: its completion (C). User layer: the reaping.
    pub end_ns: u64,
    /// Id of the I/O whose request carried this one; [`NONE`] if it had its own request.
    pub merged_into: u64,
    /// Cgroup id; 0 if unknown.
    pub cgroup: u64,
    /// Submitting thread, numbered from 0.
    pub lane: u32,
    /// I/Os of the lane in flight at the submission, itself included.
    pub depth_at_submit: u32,
    /// Process id; [`NONE_32`] if unknown.
    pub pid: u32,
    /// CPU of the start; [`NONE_32`] if unknown.
    pub cpu_submit: u32,
    /// CPU of the end; [`NONE_32`] if unknown.
    pub cpu_complete: u32,
    /// Hardware queue; [`NONE_32`] if unknown.
    pub hctx: u32,
    /// Tag in the hardware queue; [`NONE_32`] if unknown.
    pub tag: u32,
    /// Negative errno, or 0.
    pub error: i32,
}

fn ns_or_none(time: Option<Nanos>) -> u64 {
    time.map_or(NONE, |ns| ns.0)
}

fn optional(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

fn optional_32(value: u32) -> Option<u32> {
    (value != NONE_32).then_some(value)
}

impl Span {
    /// The first known time in the order of an I/O's life: begin, G, I, D, end; [`NONE`] if there
    /// is none. It differs from `begin_ns` if the source missed the begin.
    pub fn first_ns(&self) -> u64 {
        let (begin, end) = (self.begin_ns, self.end_ns);
        let times = [begin, self.getrq_ns, self.insert_ns, self.issue_ns, end];
        times.into_iter().find(|ns| *ns != NONE).unwrap_or(NONE)
    }

    /// True if no figure may use the times, as for [`IoRecord::is_untimed`].
    pub fn is_untimed(&self) -> bool {
        let [first, second, third] = match self.layer {
            Layer::Block => [self.getrq_ns, self.insert_ns, self.issue_ns],
            Layer::User => [self.submit_end_ns, NONE, NONE],
        };
        let times = [self.begin_ns, first, second, third, self.end_ns];
        let known = times.into_iter().filter(|ns| *ns != NONE);
        self.flags.contains(OpFlags::UNTIMED) || !known.is_sorted()
    }

    /// Makes the span of a record, with the start and the end of the record's layer.
    pub fn from_record(record: &IoRecord) -> Span {
        let (begin, end) = match record.layer {
            Layer::Block => (record.queue_ns, record.complete_ns),
            Layer::User => (record.submit_ns, record.reap_ns),
        };
        Span {
            id: record.id,
            layer: record.layer,
            device: record.device,
            op: record.op,
            flags: record.flags,
            sector: record.sector.0,
            bytes: record.bytes.0,
            begin_ns: ns_or_none(begin),
            submit_end_ns: ns_or_none(record.submit_end_ns),
            getrq_ns: ns_or_none(record.getrq_ns),
            insert_ns: ns_or_none(record.insert_ns),
            issue_ns: ns_or_none(record.issue_ns),
            end_ns: ns_or_none(end),
            merged_into: record.merged_into.unwrap_or(NONE),
            cgroup: record.cgroup.unwrap_or(0),
            lane: record.lane,
            depth_at_submit: record.depth_at_submit,
            pid: record.pid.unwrap_or(NONE_32),
            cpu_submit: record.cpu_submit.unwrap_or(NONE_32),
            cpu_complete: record.cpu_complete.unwrap_or(NONE_32),
            hctx: record.hctx.unwrap_or(NONE_32),
            tag: record.tag.unwrap_or(NONE_32),
            error: record.error.unwrap_or(0),
        }
    }

    /// Makes the record of the I/O, with the times of its layer relative to `origin_ns`. `comm` is
    /// the name of the process.
    pub(crate) fn record(&self, origin_ns: u64, comm: Option<String>) -> IoRecord {
        let since_origin = |ns: u64| optional(ns).map(|ns| Nanos(ns.saturating_sub(origin_ns)));
        let (sector, bytes) = (Sectors(self.sector), Bytes(self.bytes));
        let new = IoRecord::new(self.id, self.layer, self.device, self.op, sector, bytes);
        let mut record = IoRecord {
            flags: self.flags,
            lane: self.lane,
            depth_at_submit: self.depth_at_submit,
            pid: optional_32(self.pid),
            comm,
            cpu_submit: optional_32(self.cpu_submit),
            cpu_complete: optional_32(self.cpu_complete),
            hctx: optional_32(self.hctx),
            tag: optional_32(self.tag),
            cgroup: (self.cgroup != 0).then_some(self.cgroup),
            error: optional(self.end_ns).map(|_| self.error),
            merged_into: optional(self.merged_into),
            ..new
        };
        match self.layer {
            Layer::Block => {
                record.queue_ns = since_origin(self.begin_ns);
                record.getrq_ns = since_origin(self.getrq_ns);
                record.insert_ns = since_origin(self.insert_ns);
                record.issue_ns = since_origin(self.issue_ns);
                record.complete_ns = since_origin(self.end_ns);
            }
            Layer::User => {
                record.submit_ns = since_origin(self.begin_ns);
                record.submit_end_ns = since_origin(self.submit_end_ns);
                record.reap_ns = since_origin(self.end_ns);
            }
        }
        record
    }
}

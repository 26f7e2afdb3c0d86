//! An I/O without text, small enough to copy. Matching makes it and analysis takes it, without an
//! allocation.

use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};

/// Stands for a time, number or id that the source does not tell.
pub const NONE: u64 = u64::MAX;
/// [`NONE`] for fields of 32 bits.
pub const NONE_32: u32 = u32::MAX;

/// One I/O of the block layer or of a program. Times are ns on one clock, [`NONE`] where unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Unique in the trace; rises in the order in which the I/Os first appear.
    pub id: u64,
    /// The device that the I/O was for.
    pub device: DevId,
    /// Operation of the I/O.
    pub op: Op,
    /// Properties of the I/O, such as sync or FUA, and whether it was polled for.
    pub flags: OpFlags,
    /// First sector (512 B).
    pub sector: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// Time of Q; of the user layer the start of the submission.
    pub queue: u64,
    /// Time of G. Where `merged_into` is set, time of M: when the I/O joined the request of
    /// another.
    pub getrq: u64,
    /// Time of I, the insertion into the scheduler.
    pub insert: u64,
    /// Time of D; the last one when the request was requeued.
    pub issue: u64,
    /// Time of C; of the user layer the reaping.
    pub complete: u64,
    /// Id of the I/O whose request carried this one; [`NONE`] when the I/O had its own request.
    pub merged_into: u64,
    /// Cgroup id; 0 when unknown.
    pub cgroup: u64,
    /// Submitting thread, numbered from 0.
    pub lane: u32,
    /// I/Os of the lane in flight when it was queued, itself included.
    pub depth: u32,
    /// Process id; [`NONE_32`] when unknown.
    pub pid: u32,
    /// CPU of Q; [`NONE_32`] when unknown.
    pub cpu_submit: u32,
    /// CPU of C; [`NONE_32`] when unknown.
    pub cpu_complete: u32,
    /// Hardware queue; [`NONE_32`] when unknown.
    pub hctx: u32,
    /// Tag in the hardware queue; [`NONE_32`] when unknown.
    pub tag: u32,
    /// Negative errno, or 0.
    pub error: i32,
}

fn time(ns: Option<Nanos>) -> u64 {
    ns.map_or(NONE, |ns| ns.0)
}

fn known(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

fn known_32(value: u32) -> Option<u32> {
    (value != NONE_32).then_some(value)
}

impl Span {
    /// The first known time in the order Q, G, I, D, C; [`NONE`] without any.
    #[must_use]
    pub fn start(&self) -> u64 {
        let times = [
            self.queue,
            self.getrq,
            self.insert,
            self.issue,
            self.complete,
        ];
        times.into_iter().find(|at| *at != NONE).unwrap_or(NONE)
    }

    /// The span of a record. In the user layer submission and reaping stand for Q and C.
    #[must_use]
    pub fn of(record: &IoRecord) -> Span {
        let user = record.layer == Layer::User;
        let ends = match user {
            true => (record.submit_ns, record.reap_ns),
            false => (record.queue_ns, record.complete_ns),
        };
        Span {
            id: record.id,
            device: record.device,
            op: record.op,
            flags: record.flags,
            sector: record.sector.0,
            bytes: record.bytes.0,
            queue: time(ends.0),
            getrq: time(record.getrq_ns),
            insert: time(record.insert_ns),
            issue: time(record.issue_ns),
            complete: time(ends.1),
            merged_into: record.merged_into.unwrap_or(NONE),
            cgroup: record.cgroup.unwrap_or(0),
            lane: record.lane,
            depth: record.depth_at_submit,
            pid: record.pid.unwrap_or(NONE_32),
            cpu_submit: record.cpu_submit.unwrap_or(NONE_32),
            cpu_complete: record.cpu_complete.unwrap_or(NONE_32),
            hctx: record.hctx.unwrap_or(NONE_32),
            tag: record.tag.unwrap_or(NONE_32),
            error: record.error.unwrap_or(0),
        }
    }

    /// Makes a block-layer record with times from `origin`. `comm` is the name of the process.
    #[must_use]
    pub fn record(&self, origin: u64, comm: Option<String>) -> IoRecord {
        let at = |ns: u64| known(ns).map(|ns| Nanos(ns.saturating_sub(origin)));
        let (sector, bytes) = (Sectors(self.sector), Bytes(self.bytes));
        let device = self.device;
        let new = IoRecord::new(self.id, Layer::Block, device, self.op, sector, bytes);
        IoRecord {
            flags: self.flags,
            lane: self.lane,
            depth_at_submit: self.depth,
            queue_ns: at(self.queue),
            getrq_ns: at(self.getrq),
            insert_ns: at(self.insert),
            issue_ns: at(self.issue),
            complete_ns: at(self.complete),
            pid: known_32(self.pid),
            comm,
            cpu_submit: known_32(self.cpu_submit),
            cpu_complete: known_32(self.cpu_complete),
            hctx: known_32(self.hctx),
            tag: known_32(self.tag),
            cgroup: (self.cgroup != 0).then_some(self.cgroup),
            error: known(self.complete).map(|_| self.error),
            merged_into: known(self.merged_into),
            ..new
        }
    }

    /// Makes a user-layer record with times from `origin`: Q is the submission, D its return, C the
    /// reaping.
    #[must_use]
    pub fn user_record(&self, origin: u64, comm: Option<String>) -> IoRecord {
        let block = self.record(origin, comm);
        IoRecord {
            layer: Layer::User,
            submit_ns: block.queue_ns,
            submit_end_ns: block.issue_ns,
            reap_ns: block.complete_ns,
            queue_ns: None,
            getrq_ns: None,
            insert_ns: None,
            issue_ns: None,
            complete_ns: None,
            ..block
        }
    }
}

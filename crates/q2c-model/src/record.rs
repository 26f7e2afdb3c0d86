//! The I/O record: one row per request, with the same columns for all sources. The Parquet format
//! `q2c.trace` stores it.

use crate::{Bytes, DevId, Layer, Nanos, Op, OpFlags, Sectors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One request. Times are relative to the trace's start, on the trace's clock. A column is `None`
/// if the source lacks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoRecord {
    /// Number of the request in the trace, from 0, unique.
    pub id: u64,
    /// The layer in which the times were taken.
    pub layer: Layer,
    /// The device that the request went to.
    pub device: DevId,
    /// The operation.
    pub op: Op,
    /// Properties of the request.
    pub flags: OpFlags,
    /// First sector (512 B): on the device for the block layer, in the file for a file target.
    pub sector: Sectors,
    /// Length of the request.
    pub bytes: Bytes,
    /// Submitting thread, numbered from 0 in the order of appearance.
    pub lane: u32,
    /// Requests of this lane in flight when this one was submitted, itself included; 1 at depth 1.
    pub depth_at_submit: u32,
    /// Block layer: when the bio was queued (Q).
    pub queue_ns: Option<Nanos>,
    /// Block layer: when a request was allocated (G). If `merged_into` is set, when the I/O was
    /// merged into that request (M).
    pub getrq_ns: Option<Nanos>,
    /// Block layer: when the request was inserted into the scheduler (I).
    pub insert_ns: Option<Nanos>,
    /// Block layer: when the request was handed to the driver (D).
    pub issue_ns: Option<Nanos>,
    /// Block layer: when the driver completed the request (C).
    pub complete_ns: Option<Nanos>,
    /// User layer: the time just before the submitting call.
    pub submit_ns: Option<Nanos>,
    /// User layer: when the submitting call returned. The wait of sleep rules starts here.
    pub submit_end_ns: Option<Nanos>,
    /// User layer: when the program saw the completion.
    pub reap_ns: Option<Nanos>,
    /// User layer: the sleep that a rule asked for (a duration); `None` if it asked for none.
    pub sleep_asked_ns: Option<Nanos>,
    /// User layer: the sleep's length from call to return (a duration).
    pub slept_ns: Option<Nanos>,
    /// User layer: true if the first poll after the wake-up already found the completion.
    pub missed: Option<bool>,
    /// Id of the process that submitted the request.
    pub pid: Option<u32>,
    /// Name of the process, as the kernel keeps it (15 bytes; bytes that are not UTF-8 are
    /// replaced).
    pub comm: Option<String>,
    /// CPU on which the request was submitted.
    pub cpu_submit: Option<u32>,
    /// CPU on which the completion ran.
    pub cpu_complete: Option<u32>,
    /// Number of the hardware queue.
    pub hctx: Option<u32>,
    /// The request's tag in the hardware queue.
    pub tag: Option<u32>,
    /// Id of the cgroup.
    pub cgroup: Option<u64>,
    /// Negative errno, or 0; `None` if the source lacks it.
    pub error: Option<i32>,
    /// Id of the request that carried this one after a merge.
    pub merged_into: Option<u64>,
}

impl IoRecord {
    /// Makes a record with the columns that are always present; lane 0, depth 1, and all other
    /// columns empty.
    #[inline]
    pub fn new(id: u64, layer: Layer, device: DevId, op: Op, start: Sectors, bytes: Bytes) -> Self {
        IoRecord {
            id,
            layer,
            device,
            op,
            sector: start,
            bytes,
            depth_at_submit: 1,
            ..IoRecord::default()
        }
    }

    /// True if no figure may use the times: they are marked ([`OpFlags::UNTIMED`]), or one is
    /// before that of an earlier stage.
    pub fn is_untimed(&self) -> bool {
        let (user, block) = self.times();
        self.flags.contains(OpFlags::UNTIMED)
            || !block.into_iter().flatten().is_sorted()
            || !user.into_iter().flatten().is_sorted()
    }

    /// The times (submit, submit end, reap) and (Q, G, I, D, C), in the order of a request's life.
    pub fn times(&self) -> ([Option<Nanos>; 3], [Option<Nanos>; 5]) {
        let user = [self.submit_ns, self.submit_end_ns, self.reap_ns];
        let (queue, getrq, insert) = (self.queue_ns, self.getrq_ns, self.insert_ns);
        (
            user,
            [queue, getrq, insert, self.issue_ns, self.complete_ns],
        )
    }

    /// U2C, from just before the submission to the reaping; `None` if a time is missing or no
    /// figure may use the times.
    pub fn u2c(&self) -> Option<Nanos> {
        self.latency(self.submit_ns, self.reap_ns)
    }

    /// Q2C, from queueing to completion; `None` if a time is missing or no figure may use the
    /// times.
    pub fn q2c(&self) -> Option<Nanos> {
        self.latency(self.queue_ns, self.complete_ns)
    }

    /// D2C, from issue to completion; `None` if a time is missing or no figure may use the times.
    pub fn d2c(&self) -> Option<Nanos> {
        self.latency(self.issue_ns, self.complete_ns)
    }

    fn latency(&self, from: Option<Nanos>, to: Option<Nanos>) -> Option<Nanos> {
        let (from, to) = (from?, to?);
        (!self.is_untimed()).then(|| to - from)
    }
}

/// Facts about a whole trace, stored in the Parquet file's key-value metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceMeta {
    /// Unix time of the trace's time 0, ns; `None` if the source lacks it.
    pub start_unix_ns: Option<u64>,
    /// The clock of all times: `CLOCK_MONOTONIC`, or the source's name for it.
    pub clock: String,
    /// The program or format that the trace comes from (`q2c`, `latency-list`, `csv`).
    pub source: String,
    /// Version of the source.
    pub source_version: String,
    /// The file to which the offsets refer, if the target was a file.
    pub file: Option<String>,
    /// Number of events that the source lost.
    pub lost: u64,
    /// Number of events that could not be matched, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Other facts about the machine and the job, by name.
    pub facts: BTreeMap<String, String>,
}

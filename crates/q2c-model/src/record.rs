//! The I/O record: one row per request, the same for every source (design: Parquet `q2c.trace`).

use crate::{Bytes, DevId, Layer, Nanos, Op, OpFlags, Sectors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One request. Times count from the trace's start on the trace's clock; `None` when the source lacks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoRecord {
    /// Number in the trace, from 0, unique.
    pub id: u64,
    /// Where the times were taken.
    pub layer: Layer,
    /// The device.
    pub device: DevId,
    /// What it did.
    pub op: Op,
    /// How.
    pub flags: OpFlags,
    /// First sector (512 B): on the device for the block layer, in the file for a file target.
    pub sector: Sectors,
    /// Length.
    pub bytes: Bytes,
    /// Submitting thread, numbered from 0 in the order of appearance.
    pub lane: u32,
    /// Requests of this lane in flight when it was submitted, itself included; 1 at depth 1.
    pub depth_at_submit: u32,
    /// Block layer: the bio was queued (Q).
    pub queue_ns: Option<Nanos>,
    /// Block layer: a request was allocated (G); where `merged_into` is set, the I/O joined that one's request (M).
    pub getrq_ns: Option<Nanos>,
    /// Block layer: inserted into the scheduler (I).
    pub insert_ns: Option<Nanos>,
    /// Block layer: handed to the driver (D).
    pub issue_ns: Option<Nanos>,
    /// Block layer: completed by the driver (C).
    pub complete_ns: Option<Nanos>,
    /// User layer: just before the submitting call.
    pub submit_ns: Option<Nanos>,
    /// User layer: the submitting call returned. Sleep rules count from here.
    pub submit_end_ns: Option<Nanos>,
    /// User layer: the completion was seen by the program.
    pub reap_ns: Option<Nanos>,
    /// User layer: the sleep a rule asked for (a duration); `None` when it asked for none.
    pub sleep_asked_ns: Option<Nanos>,
    /// User layer: the sleep's length from call to return (a duration).
    pub slept_ns: Option<Nanos>,
    /// User layer: the first poll after the wake-up already found the completion.
    pub missed: Option<bool>,
    /// Process.
    pub pid: Option<u32>,
    /// Its name, as the kernel keeps it (15 bytes, not always UTF-8: replaced where it is not).
    pub comm: Option<String>,
    /// CPU that submitted.
    pub cpu_submit: Option<u32>,
    /// CPU on which the completion ran.
    pub cpu_complete: Option<u32>,
    /// Hardware queue.
    pub hctx: Option<u32>,
    /// Tag in that queue.
    pub tag: Option<u32>,
    /// Cgroup id.
    pub cgroup: Option<u64>,
    /// Negative errno, or 0; `None` when the source does not tell.
    pub error: Option<i32>,
    /// The request (an `id`) that carried this one after a merge.
    pub merged_into: Option<u64>,
}

impl IoRecord {
    /// A record with the always-present columns; every other column empty.
    #[must_use]
    pub fn new(
        id: u64,
        layer: Layer,
        device: DevId,
        op: Op,
        sector: Sectors,
        bytes: Bytes,
    ) -> Self {
        IoRecord {
            id,
            layer,
            device,
            op,
            flags: OpFlags::default(),
            sector,
            bytes,
            lane: 0,
            depth_at_submit: 1,
            queue_ns: None,
            getrq_ns: None,
            insert_ns: None,
            issue_ns: None,
            complete_ns: None,
            submit_ns: None,
            submit_end_ns: None,
            reap_ns: None,
            sleep_asked_ns: None,
            slept_ns: None,
            missed: None,
            pid: None,
            comm: None,
            cpu_submit: None,
            cpu_complete: None,
            hctx: None,
            tag: None,
            cgroup: None,
            error: None,
            merged_into: None,
        }
    }

    /// U2C: from just before the submission to the reaping; `None` without user-layer times.
    #[must_use]
    pub fn u2c(&self) -> Option<Nanos> {
        Some(self.reap_ns? - self.submit_ns?)
    }

    /// Q2C: from queued to complete; `None` without block-layer times.
    #[must_use]
    pub fn q2c(&self) -> Option<Nanos> {
        Some(self.complete_ns? - self.queue_ns?)
    }

    /// The latency a sleep rule sees: from the end of the submission to the reaping.
    #[must_use]
    pub fn wait(&self) -> Option<Nanos> {
        Some(self.reap_ns? - self.submit_end_ns?)
    }
}

/// What a trace says of itself, kept in the Parquet file's key-value metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceMeta {
    /// Unix time of the trace's origin (time 0), nanoseconds; `None` when the source does not tell.
    pub start_unix_ns: Option<u64>,
    /// The clock of all times: `CLOCK_MONOTONIC`, or the source's words.
    pub clock: String,
    /// What made it (`q2c`, `latency-list`, `csv`).
    pub source: String,
    /// The maker's version.
    pub source_version: String,
    /// The file the offsets belong to, when the target was a file.
    pub file: Option<String>,
    /// Events the source lost.
    pub lost: u64,
    /// Events that could not be matched, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Free facts: the machine and the job, name to value.
    pub facts: BTreeMap<String, String>,
}

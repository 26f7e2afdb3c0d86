//! How the requests of a trace become the lanes of a simulation.

use crate::{Bytes, IoRecord, Layer, Nanos, Op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The interval of a recorded request that a simulation takes as the device's time, which is what a
/// sleep rule sees of a request that did not oversleep.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DeviceTime {
    /// User layer: from the return of the submitting call to the reaping.
    #[default]
    Wait,
    /// Block layer: from the hand-over to the driver to the completion. It is the time that the
    /// kernel's own hybrid polling learns from (`blk_stat_add`, block/blk-stat.c, until Linux 6.3).
    D2c,
    /// Block layer: from the insertion into the scheduler to the completion.
    I2c,
    /// Block layer: from queued to complete.
    Q2c,
}

impl DeviceTime {
    /// The intervals of the block layer, which a user can ask for.
    pub const BLOCK: [DeviceTime; 3] = [DeviceTime::D2c, DeviceTime::I2c, DeviceTime::Q2c];

    /// The name used on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceTime::Wait => "wait",
            DeviceTime::D2c => "d2c",
            DeviceTime::I2c => "i2c",
            DeviceTime::Q2c => "q2c",
        }
    }

    /// When the interval begins in a record; `None` where the record lacks this time.
    pub fn begin(self, record: &IoRecord) -> Option<Nanos> {
        match self {
            DeviceTime::Wait => record.submit_end_ns,
            DeviceTime::D2c => record.issue_ns,
            DeviceTime::I2c => record.insert_ns,
            DeviceTime::Q2c => record.queue_ns,
        }
    }
}

impl fmt::Display for DeviceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().to_ascii_uppercase())
    }
}

impl FromStr for DeviceTime {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::BLOCK.into_iter().find(|time| time.name() == text);
        known.ok_or("expected d2c, i2c or q2c")
    }
}

/// Whose requests form the lanes of a block-layer trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LanesBy {
    /// Those of a submitting thread, whatever their device.
    #[default]
    Thread,
    /// Those of a device, whatever thread submitted them.
    Device,
}

impl FromStr for LanesBy {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "thread" => Ok(LanesBy::Thread),
            "device" => Ok(LanesBy::Device),
            _ => Err("expected thread or device"),
        }
    }
}

/// Why a record of a trace is not simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// The record has no completion (block layer) or no reaping (user layer).
    NoCompletion,
    /// The request failed.
    Failed,
    /// The operation is neither a read nor a write: a flush, a discard, or another one without data
    /// of its own. The time that it took is think time of its lane.
    NeitherReadNorWrite,
    /// The I/O was merged into the request of another one, which is simulated with the length of
    /// both.
    Merged,
    /// The record lacks the time at which the chosen device time begins.
    NoBegin,
    /// The record's times fall from stage to stage, or are not its own
    /// ([`crate::IoRecord::is_untimed`]).
    Disordered,
    /// The request was not handed to a driver, and others of the trace were: a request of a stacked
    /// device, whose parts are in the trace as requests of the devices below it.
    NotDriven,
    /// The request went to another device than the one that was named.
    OtherDevice,
    /// The record is of the layer that is not simulated.
    OtherLayer,
}

impl LeftOut {
    /// The name used in JSON and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            LeftOut::NoCompletion => "no-completion",
            LeftOut::Failed => "failed",
            LeftOut::NeitherReadNorWrite => "neither-read-nor-write",
            LeftOut::Merged => "merged",
            LeftOut::NoBegin => "no-begin",
            LeftOut::Disordered => "disordered",
            LeftOut::NotDriven => "not-driven",
            LeftOut::OtherDevice => "other-device",
            LeftOut::OtherLayer => "other-layer",
        }
    }
}

/// What requests were taken as where neither their source nor the user told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumed {
    /// The operation of requests that name none; `None` where nothing was assumed.
    pub op: Option<Op>,
    /// The length of requests that have none; `None` where nothing was assumed.
    pub bytes: Option<Bytes>,
}

/// How the records of a trace became lanes: what was taken as what, and what was left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TakenAs {
    /// The layer of the simulated requests.
    pub layer: Layer,
    /// The interval that was taken as the device's time.
    pub latency: DeviceTime,
    /// The interval that the user named; `None` when the default was taken, which is D2C where the
    /// trace has it, else Q2C.
    pub latency_asked: Option<DeviceTime>,
    /// Mean time from the first event of a request to the begin of the device time, ns. It is
    /// simulated as the submission.
    pub submission_ns: f64,
    /// Mean think time that is simulated as CPU because a recording of another tool does not tell
    /// whether the thread slept, ns. It is 0 for others.
    pub think_as_cpu_ns: f64,
    /// Whose requests the lanes hold. The lanes of a user-layer trace are its threads.
    pub lanes_by: LanesBy,
    /// Number of these threads or devices. It is smaller than the number of lanes where requests of
    /// one of them overlapped.
    pub owners: usize,
    /// Requests that were submitted while others of the same thread or device were in flight.
    pub overlapping: u64,
    /// Simulated requests by device (`major:minor`; `0:0` stands for unknown).
    pub devices: BTreeMap<String, u64>,
    /// Records that are not simulated, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
    /// Simulated requests that the kernel completed by polling; `None` when the trace does not tell
    /// how requests were completed, and for the user layer.
    pub polled: Option<u64>,
    /// Whether the times contain sleeps of the kernel's hybrid polling; `None` where the trace does
    /// not tell.
    pub kernel_slept: Option<bool>,
    /// Format of a recording of another tool; `None` for a q2c trace.
    pub format: Option<String>,
    /// What was assumed because neither the source nor the user told it; `None` where nothing was.
    pub assumed: Option<Assumed>,
    /// What the trace's own description counts as unmatched, by reason: lines and events that fit
    /// no request.
    pub unmatched: BTreeMap<String, u64>,
    /// Events or I/Os that the trace's source lost.
    pub lost: u64,
    /// Bytes of the recording that were put into files for want of memory.
    pub in_files: Bytes,
}

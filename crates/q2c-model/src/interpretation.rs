//! How the requests of a trace become the lanes of a simulation.

use crate::{Bytes, IoRecord, Layer, Nanos, Op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The interval of a recorded request that a simulation uses as the device's time. A sleep rule
/// sees this time for a request that did not oversleep.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DeviceTime {
    /// User layer: from the return of the submitting call to the reaping.
    #[default]
    Wait,
    /// Block layer: from the hand-over to the driver to the completion. The kernel's own hybrid
    /// polling learns from this time (`blk_stat_add`, block/blk-stat.c, until Linux 6.3).
    D2c,
    /// Block layer: from the insertion into the scheduler to the completion.
    I2c,
    /// Block layer: from queueing to completion.
    Q2c,
}

impl DeviceTime {
    /// The intervals of the block layer, which users can choose.
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

    /// The time at which the interval starts in a record; `None` if the record lacks it.
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
        let time = Self::BLOCK.into_iter().find(|time| time.name() == text);
        time.ok_or("expected d2c, i2c or q2c")
    }
}

/// The property by which requests of a block-layer trace form lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LanesBy {
    /// Requests of a submitting thread, whatever their device.
    #[default]
    Thread,
    /// Requests of a device, whatever thread submitted them.
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
pub enum LeftOutReason {
    /// The record has no completion (block layer) or no reaping (user layer).
    NoCompletion,
    /// The request failed.
    Failed,
    /// The operation is neither a read nor a write: a flush, a discard, or another one without
    /// data. Its time counts as think time of its lane.
    NeitherReadNorWrite,
    /// The I/O was merged into the request of another one, which is simulated with the length of
    /// both.
    Merged,
    /// The record lacks the time at which the chosen device time begins.
    NoBegin,
    /// The record's times fall from stage to stage, or were corrected
    /// ([`crate::IoRecord::is_untimed`]).
    Disordered,
    /// The request was not handed to a driver, but other requests were. It is of a stacked device,
    /// and its parts are in the trace as requests of lower devices.
    NotDriven,
    /// The request went to another device than the chosen one.
    OtherDevice,
    /// The record is of the layer that is not simulated.
    OtherLayer,
}

impl LeftOutReason {
    /// The name used in JSON and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            LeftOutReason::NoCompletion => "no-completion",
            LeftOutReason::Failed => "failed",
            LeftOutReason::NeitherReadNorWrite => "neither-read-nor-write",
            LeftOutReason::Merged => "merged",
            LeftOutReason::NoBegin => "no-begin",
            LeftOutReason::Disordered => "disordered",
            LeftOutReason::NotDriven => "not-driven",
            LeftOutReason::OtherDevice => "other-device",
            LeftOutReason::OtherLayer => "other-layer",
        }
    }
}

/// The values assumed for requests that neither their source nor the user describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssumedValues {
    /// The assumed operation of requests without one; `None` if nothing was assumed.
    pub op: Option<Op>,
    /// The assumed length of requests without one; `None` if nothing was assumed.
    pub bytes: Option<Bytes>,
}

/// How the records of a trace became lanes: which times and values were used, and what was left
/// out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interpretation {
    /// The layer of the simulated requests.
    pub layer: Layer,
    /// The interval that was used as the device's time.
    pub latency: DeviceTime,
    /// The interval that the user chose; `None` for the default, which is D2C if the trace has it,
    /// else Q2C.
    pub latency_asked: Option<DeviceTime>,
    /// Mean time from the first event of a request to the start of the device time, ns. It is
    /// simulated as the submission.
    pub submission_ns: f64,
    /// Mean think time that is simulated as CPU time, ns, because a recording of another tool does
    /// not say whether the thread slept. It is 0 for other traces.
    pub think_as_cpu_ns: f64,
    /// Whose requests form a lane. In a user-layer trace, lanes are its threads.
    pub lanes_by: LanesBy,
    /// Number of threads or devices whose requests form lanes. An owner with overlapping requests
    /// has several lanes.
    pub owners: usize,
    /// Number of requests submitted while others of the same thread or device were in flight.
    pub overlapping: u64,
    /// Number of simulated requests by device (`major:minor`; `0:0` means unknown).
    pub devices: BTreeMap<String, u64>,
    /// Number of records that are not simulated, by reason.
    pub left_out: BTreeMap<LeftOutReason, u64>,
    /// Number of simulated requests that the kernel completed by polling; `None` for the user
    /// layer, and if the trace lacks it.
    pub polled: Option<u64>,
    /// True if the times contain sleeps of the kernel's hybrid polling; `None` if unknown.
    pub kernel_slept: Option<bool>,
    /// Format of a recording of another tool; `None` for a q2c trace.
    pub format: Option<String>,
    /// Values that neither the source nor the user gave; `None` if nothing was assumed.
    pub assumed: Option<AssumedValues>,
    /// The unmatched counts in the trace's own description, by reason: lines and events that fit no
    /// request.
    pub unmatched: BTreeMap<String, u64>,
    /// Number of events or I/Os that the trace's source lost.
    pub lost: u64,
    /// Bytes of the recording that went into files because memory was too small.
    pub in_files: Bytes,
}

//! The result of `q2c place calibrate`: schema `q2c.place-calibrate/1`.

use crate::place::Speeds;
use crate::{Machine, Target, Warning};
use q2c_model::CpuId;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.place-calibrate/1";

/// The measured cost of a neighbour on the same core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrateResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// The logical CPU that was measured, and its neighbour on the same core.
    pub cpus: (CpuId, CpuId),
    /// Trials of each pair.
    pub trials: u32,
    /// Length of a trial, seconds.
    pub trial_s: f64,
    /// Seed of the trials' order.
    pub seed: u64,
    /// Facts of the machine.
    pub machine: Machine,
    /// The device that tasks polled for in the kernel; `None` without such tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// Speeds for the simulator: means over the classes of computing and the kinds of polling.
    pub speeds: Speeds,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// A task and its neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The task that was measured.
    pub own: Work,
    /// The task on the other logical CPU of the core, or on the same one; `None` if there was none.
    pub neighbour: Option<Work>,
    /// True if both ran on the same logical CPU: they share the CPU's time, but no pipeline.
    pub same_cpu: bool,
    /// Speed of the measured task as a share of its speed alone.
    pub speed: Interval,
}

/// What a task of a calibration does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Integer arithmetic in a chain of dependent steps.
    Integer,
    /// Branches that cannot be predicted.
    Branchy,
    /// Floating point with several independent chains.
    Float,
    /// Sums over arrays in the first-level cache, made of vector instructions.
    Vector,
    /// A walk through memory that is much larger than the caches.
    Memory,
    /// Polling of a clock, with a PAUSE in each turn.
    PollPause,
    /// Polling of a clock, without a PAUSE.
    Poll,
    /// Reads of a device, one in flight, polled for in the kernel (io_uring, IOPOLL).
    Iopoll,
}

impl Work {
    /// The classes of computing tasks.
    pub const COMPUTE: [Work; 5] = [
        Work::Integer,
        Work::Branchy,
        Work::Float,
        Work::Vector,
        Work::Memory,
    ];
    /// The kinds of polling that need no device.
    pub const POLLING: [Work; 2] = [Work::PollPause, Work::Poll];

    /// True if the task polls.
    pub fn polls(self) -> bool {
        !Work::COMPUTE.contains(&self)
    }
}

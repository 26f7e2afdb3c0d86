//! What is to be replayed, how, and where to.

use crate::map::{Fit, Policy};
use q2c_engine::engines::Memory;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, CpuId, Nanos};

/// When a request goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// At its recorded time.
    Timed {
        /// The trace's time runs so many times as fast; above 0.
        speed: f64,
    },
    /// When no more is in flight than was in the trace just before it.
    Outstanding {
        /// What is counted.
        count: Count,
        /// The time in which nothing was in flight is kept; else left out.
        keep_idle: bool,
    },
    /// A think time after the lane's last request.
    Closed {
        /// What a lane is.
        lane: LaneBy,
    },
}

/// What in flight is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Requests.
    #[default]
    Requests,
    /// Bytes.
    Bytes,
    /// 4 KiB blocks, begun ones counted whole.
    Blocks,
}

impl Count {
    /// Of one request.
    #[must_use]
    pub fn of(self, bytes: u64) -> u64 {
        match self {
            Count::Requests => 1,
            Count::Bytes => bytes,
            Count::Blocks => bytes.div_ceil(4096),
        }
    }
}

/// What a lane is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneBy {
    /// The trace's own lanes: submitting threads.
    #[default]
    Lane,
    /// Processes.
    Pid,
    /// Submitting CPUs.
    Cpu,
    /// Devices.
    Device,
}

/// By what requests are shared out among a target's threads in timed mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareBy {
    /// By their place, in parts of 1 MiB.
    #[default]
    Offset,
    /// By the CPU that submitted them.
    Cpu,
    /// By their hardware queue.
    Hctx,
}

/// What becomes of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// They are left out.
    Skip,
    /// They are read instead.
    #[default]
    AsReads,
    /// They are written.
    Allow,
}

/// What becomes of discards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// They are left out.
    #[default]
    Skip,
    /// They are discarded.
    Allow,
}

/// What becomes of a replay whose request fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// It ends.
    #[default]
    Stop,
    /// It goes on; failures are counted.
    GoOn,
}

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Target {
    /// What the engine is opened on.
    pub medium: Medium,
    /// The engine.
    pub engine: EngineSpec,
    /// Bytes that may be used, from its start.
    pub size: Bytes,
    /// Offsets and lengths are multiples of this: a power of two.
    pub align: Bytes,
    /// Devices of the trace, as they stand in [`crate::Facts::devices`], whose requests it gets.
    pub devices: Vec<usize>,
}

/// A replay.
#[derive(Clone, Debug)]
pub struct Plan {
    /// When requests go.
    pub mode: Mode,
    /// Where to.
    pub targets: Vec<Target>,
    /// What happens to offsets that a target does not have.
    pub fit: Fit,
    /// What becomes of each operation.
    pub policy: Policy,
    /// Submitting threads of each target; at least 1.
    pub submitters: usize,
    /// By what they share.
    pub share: ShareBy,
    /// Their CPUs in turn; none: wherever the kernel runs them.
    pub cpus: Vec<CpuId>,
    /// CPUs that there are for all threads: where they are not more than submitting threads, these sleep instead of looking.
    pub room: usize,
    /// They never sleep: each then takes a whole CPU.
    pub spin: bool,
    /// Requests in flight of each thread at most, 1 to 32768.
    pub in_flight: u16,
    /// What requests read into and write from; its slots are [`Plan::in_flight`].
    pub memory: Memory,
    /// When a request fails.
    pub on_error: OnError,
    /// Draws of simulated devices.
    pub seed: u64,
    /// Parts that the replay's time is told in.
    pub windows: usize,
    /// Only what starts in this part of the trace, from its first request.
    pub part: Option<(Nanos, Nanos)>,
}

impl Plan {
    /// Submitting threads of all targets.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.targets.len() * self.submitters
    }
}

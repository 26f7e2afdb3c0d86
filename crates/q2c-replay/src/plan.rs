//! The plan of a replay: what is replayed, by which rule, and where to.

use crate::map::{Fit, Permits};
use q2c_engine::engines::Memory;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, CpuId, Nanos};

/// The rule that decides when a request is submitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Each request goes at its recorded time.
    Timed {
        /// The trace's time runs this many times as fast; above 0.
        speed: f64,
    },
    /// A request goes when no more is in flight on its device than was in the trace just before it.
    Outstanding {
        /// The unit in which the amount in flight is counted.
        count: Count,
        /// Whether the time in which a device had nothing in flight is kept. Otherwise it is left
        /// out.
        keep_idle: bool,
    },
    /// A request goes a recorded think time after its lane's previous request has completed.
    Closed {
        /// The property of requests that makes them one lane.
        lane: LaneBy,
    },
}

/// The unit in which the amount in flight is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Requests.
    #[default]
    Requests,
    /// Bytes.
    Bytes,
    /// Blocks of 4 KiB; a block that is begun counts whole.
    Blocks,
}

impl Count {
    /// The weight of a request of `bytes` in this unit.
    #[must_use]
    pub fn of(self, bytes: u64) -> u64 {
        match self {
            Count::Requests => 1,
            Count::Bytes => bytes,
            Count::Blocks => bytes.div_ceil(4096),
        }
    }
}

/// The property of requests that makes them one lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneBy {
    /// The trace's own lane: one submitting thread's stream of requests.
    #[default]
    Lane,
    /// The process.
    Pid,
    /// The CPU that submitted them.
    Cpu,
    /// The device.
    Device,
}

/// How requests are shared out among the submitting threads of a target in timed mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareBy {
    /// By their offset, in pieces of 1 MiB.
    #[default]
    Offset,
    /// By the CPU that submitted them in the trace; by offset where the trace does not tell it.
    Cpu,
    /// By their hardware queue; by offset where the trace does not tell it.
    Hctx,
}

/// What happens to the trace's writes.
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

/// What happens to the trace's discards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// They are left out.
    #[default]
    Skip,
    /// They are done on the target.
    Allow,
}

/// What happens to the replay when a request fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The replay ends.
    #[default]
    Stop,
    /// The replay goes on, and failures are counted.
    GoOn,
}

/// A place that requests are replayed on.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file or device that the engine is opened on.
    pub medium: Medium,
    /// The engine, opened once in each submitting thread.
    pub engine: EngineSpec,
    /// Bytes that the replay may use, from the target's start.
    pub size: Bytes,
    /// Offsets and lengths are multiples of this number of bytes, a power of two.
    pub align: Bytes,
    /// Devices of the trace whose requests go to this target, by their index in
    /// [`crate::ReplayFacts::devices`].
    pub devices: Vec<usize>,
}

/// The plan of a replay. Together with the [`crate::ReplayFacts`] of the trace it says everything
/// that [`crate::replay()`] does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rule that decides when a request is submitted.
    pub mode: Mode,
    /// The targets, each with its own submitting threads.
    pub targets: Vec<Target>,
    /// What happens to offsets beyond a device's region of the target.
    pub fit: Fit,
    /// What happens to writes and discards.
    pub permits: Permits,
    /// Submitting threads of each target; at least 1.
    pub submitters: usize,
    /// How the submitting threads of a target share its requests in timed mode.
    pub share: ShareBy,
    /// CPUs of the submitting threads, in turn. Empty: the kernel chooses.
    pub cpus: Vec<CpuId>,
    /// Number of CPUs that there are for all threads. If it is not above the number of submitting
    /// threads, these sleep instead of looking for completions.
    pub room: usize,
    /// The submitting threads never sleep: each takes a whole CPU.
    pub spin: bool,
    /// The most requests that each submitting thread has in flight, 1 to 32768.
    pub in_flight: u16,
    /// The buffers that requests read into and write from; as many slots as [`Plan::in_flight`].
    pub memory: Memory,
    /// What happens when a request fails.
    pub on_error: OnError,
    /// Seed of simulated devices; each submitting thread adds its number.
    pub seed: u64,
    /// Number of windows into which the expected time of a timed replay is divided; none is shorter
    /// than 1 ms.
    pub windows: usize,
    /// Replay only requests that start in this range of the trace's time, counted from its first
    /// request.
    pub range: Option<(Nanos, Nanos)>,
}

impl Plan {
    /// Number of submitting threads of all targets.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.targets.len() * self.submitters
    }
}

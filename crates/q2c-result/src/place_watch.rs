//! The result of `q2c place watch`: schema `q2c.place-watch/1`.

use crate::Warning;
use crate::place::{Speeds, SpeedsFrom};
use q2c_model::CpuId;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.place-watch/1";

/// Who polls and who computes on each core, what it costs, and what would be better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceWatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Time of the look, Unix time in seconds.
    pub at_unix_s: u64,
    /// Length of the window that was looked at, seconds.
    pub window_s: f64,
    /// How polling is seen.
    pub detector: Detector,
    /// Share of its own speed that a task has beside each kind of neighbour.
    pub speeds: Speeds,
    /// The source of `speeds`.
    pub speeds_from: SpeedsFrom,
    /// The cores, with their active tasks.
    pub cores: Vec<WatchedCore>,
    /// Mean run time of computing tasks over that of a lone one; `None` when nothing computes.
    pub c_slowdown: Option<f64>,
    /// `c_slowdown` as predicted after the moves.
    pub c_slowdown_after: Option<f64>,
    /// The moves that the rules ask for, in order.
    pub moves: Vec<AdvisedMove>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// How polling is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detector {
    /// Functions of the kernel that are watched.
    pub functions: Vec<String>,
    /// Why no function is watched, so that hints and names alone show polling; else `None`.
    pub missing: Option<String>,
}

/// A physical core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedCore {
    /// The core's logical CPUs.
    pub cpus: Vec<WatchedCpu>,
}

/// A logical CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedCpu {
    /// Number of the CPU.
    pub cpu: CpuId,
    /// Tasks that were active and last ran on this CPU.
    pub tasks: Vec<WatchedTask>,
    /// Run time of a computing task here over that of one alone; `None` without a computing task.
    pub c_slowdown: Option<f64>,
}

/// An active task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedTask {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
    /// True if the task polls.
    pub polls: bool,
    /// The evidence that the task polls.
    pub by: SeenBy,
    /// CPU that it used, percent of one.
    pub cpu_pct: f64,
    /// Why the task must stay on its CPUs; `None` when it may be moved.
    pub stays: Option<StayReason>,
}

/// The evidence that a task polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// A hint of the user's.
    Hint,
    /// The task called the kernel's poll functions.
    Kernel,
    /// The task has the name of a submission thread of io_uring (SQPOLL).
    SubmissionThread,
    /// The task has the name of a well-known polling program.
    Name,
    /// There is no evidence that it polls.
    Nothing,
}

/// Why a task must stay on its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StayReason {
    /// A kernel thread of one CPU.
    PerCpu,
    /// Another kernel thread.
    Kernel,
    /// The task has a real-time or deadline policy.
    RealTime,
    /// The task's affinity has fewer CPUs than its control group.
    Pinned,
    /// A hint says so.
    Hint,
    /// The kernel refused to move it.
    Refused,
}

/// A move that the rules ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisedMove {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
    /// True if the task polls.
    pub polls: bool,
    /// The CPU on which the task runs now.
    pub from: CpuId,
    /// The CPU that it should be on.
    pub to: CpuId,
    /// Why the task should move.
    pub why: MoveReason,
}

/// Why a task should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    /// The task's CPU has more tasks than the other CPU.
    Load,
    /// The task's core has more polling tasks than the other core.
    Scatter,
    /// The task joins the polling tasks of its core on one CPU.
    Colocate,
    /// The task makes room for a polling task that comes to its CPU.
    Room,
}

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
    /// Where these figures are from.
    pub speeds_from: SpeedsFrom,
    /// The cores, with their active tasks.
    pub cores: Vec<WatchedCore>,
    /// Mean run time of computing tasks over that alone; `None` when nothing computes.
    pub c_slowdown: Option<f64>,
    /// The same after the moves.
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
    /// Why none is watched, so that tasks are known by hints and names; `None` when some are.
    pub missing: Option<String>,
}

/// A physical core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedCore {
    /// Its logical CPUs.
    pub cpus: Vec<WatchedCpu>,
}

/// A logical CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedCpu {
    /// Its number.
    pub cpu: CpuId,
    /// Tasks that were active and had this CPU last.
    pub tasks: Vec<WatchedTask>,
    /// Run time of a computing task here as a multiple of one alone; `None` without one.
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
    /// Whether it polls.
    pub polls: bool,
    /// How that is known.
    pub by: SeenBy,
    /// CPU that it used, percent of one.
    pub cpu_pct: f64,
    /// Why it must stay on its CPUs; `None` when it may be moved.
    pub stays: Option<Stays>,
}

/// How it is known that a task polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// A hint of the user's.
    Hint,
    /// It called the kernel's poll functions.
    Kernel,
    /// It is a submission thread of io_uring (SQPOLL), by its name.
    SubmissionThread,
    /// It has the name of a well-known poller.
    Name,
    /// Nothing says that it polls.
    Nothing,
}

/// Why a task must stay on its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stays {
    /// A kernel thread of one CPU.
    PerCpu,
    /// Another kernel thread.
    Kernel,
    /// It has a real-time or deadline policy.
    RealTime,
    /// Somebody gave it fewer CPUs than its control group has.
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
    /// Whether it polls.
    pub polls: bool,
    /// Its CPU.
    pub from: CpuId,
    /// The CPU that it should be on.
    pub to: CpuId,
    /// The reason.
    pub why: MoveReason,
}

/// Why a task should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    /// Its CPU has more tasks than the other.
    Load,
    /// Its core has more polling tasks than the other.
    Scatter,
    /// It joins the polling tasks of its core on one CPU.
    Colocate,
    /// It makes room for a polling task that comes to its CPU.
    Room,
}

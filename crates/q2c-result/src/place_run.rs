//! The result of `q2c place run`: schema `q2c.place-run/1`.

use crate::corun::Work;
use crate::place::PolicyName;
use crate::{Machine, Target, Warning};
use q2c_model::Latencies;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.place-run/1";

/// Measured placements of computing (C) and polling (P) tasks on this machine's cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceRunResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// True if every trial that was asked for has run.
    pub complete: bool,
    /// Facts of the machine.
    pub machine: Machine,
    /// Physical cores that were used.
    pub cores: u32,
    /// Logical CPUs of these cores.
    pub cpus: u32,
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
    /// What the P tasks do.
    pub polls: PollTask,
    /// The target of the P tasks; `None` if they are programs.
    pub target: Option<Target>,
    /// Trials of each placement.
    pub trials: u32,
    /// Counted time of a trial of q2c's own C tasks, seconds.
    pub trial_s: f64,
    /// Time before the counted time, in which the placement settles, seconds.
    pub settle_s: f64,
    /// Seed of the trials' order.
    pub seed: u64,
    /// Smallest speed of C beside C over C alone, which shows that a core's CPUs share a pipeline.
    pub beside_own_kind: Interval,
    /// A single P task without neighbours; `None` if the P tasks are programs.
    pub polling_alone: Option<PollFigures>,
    /// The kinds of C tasks, each in every placement.
    pub classes: Vec<ClassRun>,
    /// Placements that could not be made.
    pub left_out: Vec<PlacementLeftOut>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// What a C task does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputeTask {
    /// A class of q2c's own work.
    Own(Work),
    /// A program of the user's: its command, as a shell takes it.
    Program(String),
}

/// What a P task does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollTask {
    /// It polls for I/Os by q2c's engine, one in flight.
    Engine {
        /// The engine and its path.
        engine: String,
        /// Bytes of an I/O.
        bs: q2c_model::Bytes,
    },
    /// A program of the user's: its command, as a shell takes it.
    Program(String),
}

/// The figures of a kind of C task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRun {
    /// The kind.
    pub task: ComputeTask,
    /// The placements, in the order in which they are shown.
    pub placements: Vec<PlacementRun>,
    /// What one placement gains over another.
    pub gains: Vec<PlacementGain>,
}

/// The figures of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementRun {
    /// The placement.
    pub policy: PolicyName,
    /// Mean run time of the C tasks over that of one alone on a core in the same round.
    pub c_slowdown: Interval,
    /// Figures of the P tasks; `None` if they are programs.
    pub polls: Option<PollFigures>,
    /// Tasks that the daemon moved to other CPUs, per trial; `None` if it did not run.
    pub moves: Option<Interval>,
    /// Reasons of the trials that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// Speed and latency of P tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollFigures {
    /// I/Os per second of one P task, mean over the tasks.
    pub iops: Interval,
    /// Bytes per second of one P task.
    pub bytes_per_s: Interval,
    /// Latencies (U2C) of the I/Os of all P tasks, each a statistic of a trial.
    #[serde(flatten)]
    pub latency: Latencies<Interval>,
}

/// What one placement gains over another in run time of the C tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementGain {
    /// The placement with the shorter published run time.
    pub of: PolicyName,
    /// The other placement.
    pub over: PolicyName,
    /// T' / T - 1, percent: T is the run time under `of`, T' that under `over` in the same round.
    pub t_over_t_minus_1_pct: Interval,
    /// 1 - T / T' in percent.
    pub one_minus_pct: Interval,
    /// The published figure, percent; `None` if there is none.
    pub published_pct: Option<f64>,
}

/// A placement that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementLeftOut {
    /// The placement.
    pub policy: PolicyName,
    /// The reason, as words after "left out:".
    pub reason: String,
}

//! The result of `q2c place run`: schema `q2c.place-run/1`.

use crate::corun::Work;
use crate::place::PolicyName;
use crate::{Machine, Target, Warning};
use q2c_model::Latencies;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.place-run/1";

/// Computing (C) and polling (P) tasks on this machine's cores, in several placements, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceRunResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Whether every trial that was asked for has run.
    pub complete: bool,
    /// Facts of the machine.
    pub machine: Machine,
    /// Physical cores that were used.
    pub cores: u32,
    /// Logical CPUs of them.
    pub cpus: u32,
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
    /// What the P tasks do.
    pub polls: PollTask,
    /// The target of the P tasks; `None` where they are programs.
    pub target: Option<Target>,
    /// Trials of each placement.
    pub trials: u32,
    /// Counted time of a trial of q2c's own C tasks, seconds.
    pub trial_s: f64,
    /// Time before the counted time, in which the placement settles, seconds.
    pub settle_s: f64,
    /// Seed of the trials' order.
    pub seed: u64,
    /// Least speed of C beside C over C alone: it shows that the CPUs of a core share a pipeline.
    pub beside_own_kind: Interval,
    /// One P task with nothing beside it; `None` where the P tasks are programs.
    pub polling_alone: Option<PollFigures>,
    /// The kinds of C tasks, each in every placement.
    pub classes: Vec<ClassRun>,
    /// Placements that could not be had.
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
    /// A program of the user's; its command as a shell has it.
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
    /// A program of the user's; its command as a shell has it.
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
    /// Run time of a C task over that of one alone on a core in the same round, mean of the tasks.
    pub c_slowdown: Interval,
    /// The P tasks; `None` where they are programs.
    pub polls: Option<PollFigures>,
    /// Tasks that the daemon gave other CPUs, per trial; `None` in placements without it.
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

/// What a placement gains over another in run time of the C tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementGain {
    /// The placement with the shorter published run time.
    pub of: PolicyName,
    /// The other placement.
    pub over: PolicyName,
    /// T' / T - 1 in percent: T of the first, T' of the other, both of the same round.
    pub t_over_t_minus_1_pct: Interval,
    /// 1 - T / T' in percent.
    pub one_minus_pct: Interval,
    /// The published figure, percent; `None` where none is published.
    pub published_pct: Option<f64>,
}

/// A placement that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementLeftOut {
    /// The placement.
    pub policy: PolicyName,
    /// Why, to be read after "left out:".
    pub reason: String,
}

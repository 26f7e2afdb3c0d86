//! The result of `q2c scale predict`: schema `q2c.scale/1`.

use crate::{Machine, Target, Warning};
use q2c_model::Bytes;
use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.scale/1";

/// A prediction of throughput beyond the measured number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// The measured run; `None` when all parameters are from a file.
    pub run: Option<MeasuredCurve>,
    /// The file of parameters as the user named it; `None` without one.
    pub parameters_file: Option<String>,
    /// Largest number of jobs of which each gets a core of its own.
    pub cores: u32,
    /// Largest number of jobs in the prediction.
    pub jobs: u32,
    /// The parameters of the prediction.
    pub parameters: Parameters,
    /// Throughput over the number of jobs, ascending.
    pub curve: Vec<CurvePoint>,
    /// Most jobs of which each adds a tenth of the first job's throughput; `None` without an end.
    pub ends_at: Option<u32>,
    /// Interval of `ends_at`; `None` if unknown. An upper end of `None` lies beyond the curve.
    pub ends_between: Option<(u32, Option<u32>)>,
    /// The resource that limits throughput at `ends_at`; `None` if no limit is known.
    pub resource: Option<Resource>,
    /// Number of jobs with the highest predicted throughput, if it surely falls beyond that number.
    pub peak: Option<u32>,
    /// Whether the evidence suffices for an answer.
    pub answer: Answer,
    /// Throughput gained beyond the end if a resource had no limit, the largest gain first.
    pub what_if: Vec<WhatIf>,
    /// Mean error of predicting each measured point from the others, percent.
    pub leave_out_error_pct: Option<f64>,
    /// Number of resampled predictions that give the intervals.
    pub resamples: u32,
    /// Seed of the resampling.
    pub seed: u64,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// The measured curve that a prediction starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCurve {
    /// Path of the run as the user gave it.
    pub path: String,
    /// Interface as asked.
    pub engine: String,
    /// Method as asked.
    pub method: Method,
    /// Requests in flight of each job.
    pub depth: u16,
    /// Bytes per request.
    pub bs: Bytes,
    /// Pattern of access.
    pub rw: String,
    /// Physical cores of the machine that it was measured on.
    pub physical_cores: u32,
    /// Most jobs of a point that the parameters were fitted to; 0 when all are from a file.
    pub fitted_up_to: u32,
    /// Facts of that machine.
    pub machine: Machine,
    /// Facts of the target.
    pub target: Target,
}

words! {
    /// What may end scaling.
    pub enum Resource, name {
        /// There are more jobs than cores.
        Cpu = "cpu",
        /// A lock that all jobs take.
        Lock = "lock",
        /// A cache line that costs more with each core that uses it.
        CacheLine = "cache_line",
        /// Requests (tags) of the hardware queues.
        Tags = "tags",
        /// The number of requests that the device serves at once.
        Device = "device",
    }
}

/// What the evidence allows to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Scaling ends within the curve.
    Ends,
    /// A limit is known, but lies beyond the curve.
    Beyond,
    /// A limit is visible, but scaling may end anywhere in a wide range, so `ends_at` is `None`.
    Uncertain,
    /// The measured points show no limit, so the end of scaling cannot be predicted.
    NothingSeen,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of jobs.
    pub jobs: u32,
    /// I/Os per second: the median of the trials, or the prediction.
    pub iops: f64,
    /// Lower end of the interval: the smallest trial, or the 2.5th percentile of the predictions.
    pub low: f64,
    /// Upper end of the interval: the largest trial, or the 97.5th percentile of the predictions.
    pub high: f64,
    /// True if the point was measured, false if it is a prediction.
    pub measured: bool,
}

/// The gain if a resource had no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The resource.
    pub resource: Resource,
    /// Number of jobs at which the throughputs are compared.
    pub jobs: u32,
    /// Additional throughput, percent.
    pub gain_pct: f64,
}

/// The parameters of the model. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Requests in flight of each job.
    pub depth: u32,
    /// Time of an I/O on its core, without the lock.
    pub cpu_ns: Parameter,
    /// Time in which an I/O uses no shared resource.
    pub rest_ns: Parameter,
    /// Time that each further core adds to an I/O through a shared cache line; 0 without one.
    pub line_ns: Parameter,
    /// Time for which a lock is held when nobody waits; 0 without one.
    pub lock_ns: Parameter,
    /// What each waiter adds to that time, as a share of `lock_ns`.
    pub lock_growth: Parameter,
    /// Standard deviation of the lock's time divided by its mean.
    pub lock_cv: f64,
    /// Hardware queues; `None` if requests have no limit.
    pub queues: Option<u32>,
    /// Requests of each queue; `None` if they have no limit.
    pub tags: Option<u32>,
    /// Time of a request in the device when it does not wait.
    pub device_ns: Parameter,
    /// Standard deviation of `device_ns` divided by its mean.
    pub device_cv: f64,
    /// Requests that the device serves at once; `None` when no limit is known.
    pub device_parallel: Option<Parameter>,
    /// The block-layer stage that shows the lock or cache line; `None` if none was measured.
    pub shared_stage: Option<String>,
}

/// A parameter with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Parameter {
    /// A value that is known exactly.
    pub fn exact(value: f64) -> Parameter {
        Parameter {
            value,
            low: value,
            high: value,
        }
    }
}

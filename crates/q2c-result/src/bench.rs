//! The result of `q2c bench`: `result.json`, schema `q2c.bench/2`.

use crate::mode::EffectiveMode;
use crate::{DoctorReport, Machine, Target, Warning};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_stats::Interval;
use q2c_stats::scaling::{Fit, Shape};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.bench/2";
/// Earlier versions that can be read.
pub const EARLIER: [&str; 1] = ["q2c.bench/1"];

/// One run of `q2c bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// False when the run was stopped early: what is here is valid, what is missing is not.
    pub complete: bool,
    /// What every trial had in common.
    pub job: BenchJob,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// What `q2c doctor` said.
    pub doctor: DoctorReport,
    /// Every point.
    pub cells: Vec<BenchCell>,
    /// Points of the axes that do not exist here, with the reason.
    pub left_out: Vec<LeftOut>,
    /// One curve over the number of jobs for each interface, method, depth, block size and pattern with several.
    pub scaling: Vec<Curve>,
    /// CPU time per I/O of the null engine with recording on, nanoseconds: the harness's own cost.
    pub harness_floor_ns: f64,
    /// The same with nothing of an I/O kept and none timed; 0 in results of versions that did not measure it.
    #[serde(default)]
    pub harness_bare_ns: f64,
    /// Ways in which this result can mislead.
    pub warnings: Vec<Warning>,
}

/// What every trial had in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchJob {
    /// Measured part of a trial, seconds.
    pub trial_seconds: f64,
    /// Warm-up at most, seconds.
    pub warm_up_seconds: f64,
    /// Trials per point.
    pub trials: u32,
    /// CPUs in the order in which jobs take them.
    pub cpus: Vec<CpuId>,
    /// That order in words.
    pub cpu_order: String,
    /// CPUs busy before anything was measured; taken off where KIOPS/core are told.
    pub idle_busy_cpus: f64,
    /// Submissions of each job per second, as a Poisson process; none in a closed loop.
    pub rate: Option<f64>,
    /// Part of the target in use, from its start; all of it without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// Where on the axes a point lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchPoint {
    /// Interface as asked: `io_uring`, `libaio`, `pvsync2`.
    pub engine: String,
    /// Method as asked.
    pub method: Method,
    /// Threads.
    pub jobs: u32,
    /// Requests in flight of each.
    pub depth: u16,
    /// Bytes per request.
    pub bs: Bytes,
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
}

/// A point that does not exist here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// Why.
    pub reason: String,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchCell {
    /// Which.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// I/Os per second, all jobs.
    pub iops: Interval,
    /// Latency (U2C; from the intended time with a rate), nanoseconds.
    pub lat_ns: Latency,
    /// CPU time per second of wall time, CPUs.
    pub cpu: Cpu,
    /// Thousand I/Os per second and busy CPU of the machine, what is busy at rest taken off.
    pub kiops_per_core: Interval,
    /// Share of I/Os complete when their sleep ended, 0..1; none where nothing slept by a rule.
    pub miss_rate: Option<Interval>,
    /// What the kernel really did, with its proof.
    pub effective_mode: EffectiveMode,
    /// The jobs' CPUs.
    pub cpus: Vec<CpuId>,
    /// Jobs and helper threads are more than CPUs.
    pub oversubscribed: bool,
    /// Above the device's rating or what every other interface reached: suspect.
    pub too_good: Option<String>,
    /// Trials whose warm-up did not become steady.
    pub unsteady: u32,
    /// Reasons of trials that failed.
    pub failures: Vec<String>,
}

/// Latencies over all trials: median over trials of each trial's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
}

/// CPUs at work, by who they worked for: CPU seconds per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// The jobs' threads.
    pub job_s: Interval,
    /// Kernel threads that work for them (SQPOLL, io-wq).
    pub helper_s: Interval,
    /// Interrupts and softirqs of the whole machine, as the kernel's ticks see them.
    pub softirq_s: Interval,
    /// The whole machine.
    pub busy_s: Interval,
    /// Nanoseconds of jobs and helpers per I/O.
    pub ns_per_io: Interval,
}

/// One curve over the number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The first of its points; the others differ in their jobs.
    #[serde(flatten)]
    pub first: BenchPoint,
    /// `1, 2, 4`: the numbers of jobs.
    pub over: Vec<u32>,
    /// Smallest number of jobs from which further ones add less than a tenth of one job's throughput.
    pub knee: Option<u32>,
    /// Number of jobs with the highest throughput.
    pub peak: Option<u32>,
    /// Smallest number of jobs beyond the peak at which throughput has fallen for sure.
    pub collapse: Option<u32>,
    /// Steps, efficiency and shares; none where the curve cannot be read.
    pub shape: Option<Shape>,
    /// The universal scalability law, where it can be fitted.
    pub usl: Option<Fit>,
    /// Why the curve could not be read or fitted.
    pub refused: Option<String>,
    /// What may have bent it: named from evidence.
    pub suspects: Vec<String>,
    /// What was not looked at.
    pub not_looked_at: Vec<String>,
}

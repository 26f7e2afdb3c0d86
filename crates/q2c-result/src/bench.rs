//! The result of `q2c bench`: `result.json`, schema `q2c.bench/5`.

mod background;
mod compared;
mod device;
mod growth;
mod lead;
mod stages;
mod tag_waits;
mod tuned;

pub use background::{BackgroundJobs, Slice};
pub use device::{DeviceKind, PointDevice, QueueTypes};
pub use growth::StageGrowth;
pub use lead::{Lead, Measure};
pub use stages::{PointStages, StageRun};
pub use tag_waits::{QueueTagWaits, TagWaits};
pub use tuned::{Tuned, TunedMethod};

use crate::mode::EffectiveMode;
use crate::tune::PerCore;
use crate::{DoctorReport, Machine, Provenance, Target, Warning};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_stats::Interval;
use q2c_stats::scaling::{Fit, Shape};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.bench/5";

/// One run of `q2c bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// When, where and how long it ran.
    pub provenance: Provenance,
    /// False when the run was stopped early. The figures that it has are valid then.
    pub complete: bool,
    /// Settings that all trials had in common.
    pub job: BenchJob,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// The report of `q2c doctor`.
    pub doctor: DoctorReport,
    /// Every point that exists here.
    pub cells: Vec<BenchCell>,
    /// Points of the axes that do not exist here, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Points that exist and were not measured, because the search for knee and collapse did not
    /// need them; empty where all points were to be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<BenchPoint>,
    /// Curves over the number of jobs: one for each interface, method, depth, block size and
    /// pattern with at least three numbers of jobs.
    pub scaling: Vec<Curve>,
    /// The methods that lead over the number of jobs, for each interface, depth, block size,
    /// pattern and background with at least two methods at two numbers of jobs.
    pub leads: Vec<Lead>,
    /// CPU time per I/O of the null engine with recording on, ns: q2c's own cost.
    pub harness_floor_ns: f64,
    /// CPU time per I/O of the null engine when it keeps nothing of an I/O and times none, ns.
    pub harness_bare_ns: f64,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// Settings that all trials had in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchJob {
    /// Length of the measured part of a trial, seconds.
    pub trial_seconds: f64,
    /// Most length of the warm-up, seconds.
    pub warm_up_seconds: f64,
    /// Trials per point.
    pub trials: u32,
    /// CPUs in the order in which jobs take them.
    pub cpus: Vec<CpuId>,
    /// The order of the CPUs in words.
    pub cpu_order: String,
    /// CPUs that were busy before anything was measured; KIOPS/core does not count them.
    pub idle_busy_cpus: f64,
    /// Submissions of each job per second, as a Poisson process; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Part of the target in use, from its start; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Whether the backgrounds are phases of one trial, through which the jobs run on.
    pub phases: bool,
    /// The methods that a run of `q2c tune` recommends; `None` where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<Tuned>,
    /// Whether each point got a run with the block layer captured.
    pub stages: bool,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// The place of a point on the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchPoint {
    /// Interface as asked: `io_uring`, `libaio`, `pvsync2`.
    pub engine: String,
    /// Method as asked.
    pub method: Method,
    /// Number of jobs, one thread each.
    pub jobs: u32,
    /// Requests in flight in each job.
    pub depth: u16,
    /// Bytes per request.
    pub bs: Bytes,
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
    /// The background jobs that run beside this point's jobs, as asked; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background: String,
    /// Hardware queues as asked; `None` for those that the device has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_queues: Option<u32>,
    /// `nr_requests` as asked; `None` for what the device has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
}

/// A point that does not exist here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The place of the point.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// The reason in words.
    pub reason: String,
}

/// One point with the figures of its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchCell {
    /// The place of the point.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// The block device as the kernel had it during the first trial; `None` without a device, and
    /// without a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PointDevice>,
    /// I/Os per second, all jobs.
    pub iops: Interval,
    /// Latency (U2C; from the intended time with a rate), nanoseconds.
    pub lat_ns: Latency,
    /// CPU time per second of wall time, CPUs.
    pub cpu: Cpu,
    /// Thousand I/Os per second and busy CPU of the machine, less the CPUs that are busy while the
    /// jobs rest and their background runs.
    pub kiops_per_core: Interval,
    /// The CPU time that it divides by: that of the jobs' threads alone where so much else was at
    /// work that the machine's busy CPUs say nothing of the jobs.
    pub per_core: PerCore,
    /// I/Os that were complete when their sleep ended / I/Os that a sleep rule handled, 0..1; those
    /// that did not sleep are among the latter. `None` when no sleep rule handled an I/O.
    pub miss_rate: Option<Interval>,
    /// I/Os that slept / I/Os that a sleep rule handled, 0..1: a thread sleeps for its oldest
    /// request alone, so that at depths above 1 others complete meanwhile. `None` when no sleep
    /// rule of q2c's own threads handled an I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_share: Option<Interval>,
    /// Effective sleep: sum of sleeps asked over all I/Os that a sleep rule handled, ns; `None`
    /// when no sleep rule of q2c's own threads handled an I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_sleep_ns: Option<Interval>,
    /// Mean time from the call of a sleep to its return, over the I/Os that slept, ns; `None` when
    /// no I/O slept in q2c's own threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_ns: Option<Interval>,
    /// What ran beside the jobs; `None` without a background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_jobs: Option<BackgroundJobs>,
    /// The course of each trial that went well, where backgrounds are phases; its warm-up is there,
    /// too. Empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<Vec<Slice>>,
    /// Where the point's I/Os spend their time in the block layer, or why that is not known; `None`
    /// where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<PointStages>,
    /// What the kernel really did, with its proof.
    pub effective_mode: EffectiveMode,
    /// CPUs of the jobs, in the order of the jobs.
    pub cpus: Vec<CpuId>,
    /// Whether there are more jobs and helper threads than CPUs.
    pub oversubscribed: bool,
    /// A remark when IOPS are above the device's rating, or far above those of every other
    /// interface: a cache, a hole or a fault of measurement may be the reason.
    pub too_good: Option<String>,
    /// Number of trials whose throughput was not steady at the end of the warm-up.
    pub unsteady: u32,
    /// Reasons of trials that failed.
    pub failures: Vec<String>,
}

/// Latencies, ns, each over the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: Interval,
    /// Median.
    pub p50: Interval,
    /// 99th percentile.
    pub p99: Interval,
    /// 99.9th percentile.
    pub p999: Interval,
}

/// CPU time by its users: CPU seconds per second of wall time, if nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Threads of the jobs.
    pub job_s: Interval,
    /// Kernel threads that work for the jobs (SQPOLL, io-wq).
    pub helper_s: Interval,
    /// Interrupts and softirqs of the whole machine, as the kernel's tick accounting has them.
    pub softirq_s: Interval,
    /// All busy CPUs of the machine.
    pub busy_s: Interval,
    /// CPU time of jobs and helpers per I/O, ns.
    pub ns_per_io: Interval,
}

/// One curve of throughput over the number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The first point of the curve. The other points differ only in the number of jobs.
    #[serde(flatten)]
    pub first: BenchPoint,
    /// The numbers of jobs, ascending.
    pub over: Vec<u32>,
    /// Smallest number of jobs from which each further job adds less than a tenth of one job's
    /// throughput.
    pub knee: Option<u32>,
    /// Number of jobs with the highest throughput.
    pub peak: Option<u32>,
    /// Smallest number of jobs beyond the peak at which throughput has fallen for sure.
    pub collapse: Option<u32>,
    /// Steps, efficiency and shares; `None` where the curve has no shape.
    pub shape: Option<Shape>,
    /// The fit of the universal scalability law; `None` where it cannot be fitted.
    pub usl: Option<Fit>,
    /// Why the curve has no shape or no fit.
    pub refused: Option<String>,
    /// How an I/O's time in the block layer grows along the curve; `None` without `--stages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<StageGrowth>,
    /// Possible reasons of a bend, with their evidence, in words.
    pub suspects: Vec<String>,
    /// Names of the suspects for which evidence is missing.
    pub not_looked_at: Vec<String>,
}

//! The result of `q2c bench`: `result.json`, schema `q2c.bench/5`.

mod device;
mod growth;

pub use device::{DeviceKind, PointDevice, QueueTypes};
pub use growth::StageGrowth;

use crate::analyze::{Bottleneck, DeviceQueues, StageStats};
use crate::late::UnseenReason;
use crate::lead::{LeadChange, Leader};
use crate::mode::{EffectiveMode, ModeKind, ModeNote};
use crate::replay::CapturedBy;
use crate::tune::PerCore;
use crate::{DoctorReport, Machine, Provenance, Target, Warning};
use q2c_model::stats::Interval;
use q2c_model::stats::scaling::{Fit, ScalingShape};
use q2c_model::{Bytes, CpuId, Latencies, Op};
use q2c_policy::Method;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.bench/5";

/// One run of `q2c bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// When and where the run was made, and how long it took.
    pub provenance: Provenance,
    /// False when the run was stopped early; the figures that it has are still valid.
    pub complete: bool,
    /// Settings that all trials had in common.
    pub job: BenchJob,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// The report of `q2c doctor`.
    pub doctor: DoctorReport,
    /// Every point that can run here.
    pub cells: Vec<BenchCell>,
    /// Points of the axes that cannot run here, with the reason.
    pub left_out: Vec<LeftOutPoint>,
    /// Points that the search for knee and collapse did not need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<BenchPoint>,
    /// Curves of at least three points that differ in the number of jobs only.
    pub scaling: Vec<ThroughputCurve>,
    /// Leading methods over jobs, if two methods ran at two numbers of jobs.
    pub leads: Vec<Lead>,
    /// CPU time per I/O of the null engine while it records, ns: q2c's own cost.
    pub harness_floor_ns: f64,
    /// CPU time per I/O of the null engine without records and timestamps, ns.
    pub harness_bare_ns: f64,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// Settings that all trials had in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchJob {
    /// Length of the measured part of a trial, seconds.
    pub trial_seconds: f64,
    /// Longest warm-up, seconds.
    pub warm_up_seconds: f64,
    /// Trials per point.
    pub trials: u32,
    /// CPUs in the order in which jobs take them.
    pub cpus: Vec<CpuId>,
    /// The order of the CPUs in words.
    pub cpu_order: String,
    /// CPUs that were busy before any measurement; KIOPS/core leaves them out.
    pub idle_busy_cpus: f64,
    /// Submissions per second of each job, as a Poisson process; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Part of the target in use, from its start; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// True if the backgrounds are phases of one trial, in which the jobs never stop.
    pub phases: bool,
    /// The methods that a run of `q2c tune` recommends; `None` if the user named no such run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TunedRun>,
    /// True if each point got an additional run with the block layer captured.
    pub stages: bool,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// A point: its value on each axis.
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
    /// Pattern as fio names it, with what belongs to it: `randread`, `randrw:70:zipf=1.1`.
    pub rw: String,
    /// The background jobs beside this point's jobs, as asked; empty without background jobs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background: String,
    /// Hardware queues as asked; `None` leaves the device's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_queues: Option<u32>,
    /// `nr_requests` as asked; `None` leaves the device's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
}

/// A point that cannot run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOutPoint {
    /// The point: its value on each axis.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// The reason in words.
    pub reason: String,
}

/// One point with the figures of its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchCell {
    /// The point: its value on each axis.
    #[serde(flatten)]
    pub point: BenchPoint,
    /// The block device during the first trial; `None` without a device or trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PointDevice>,
    /// I/Os per second, all jobs.
    pub iops: Interval,
    /// Latency (U2C; from the intended time with a rate), nanoseconds.
    pub lat_ns: Latency,
    /// The same by kind of request; empty for a pattern with requests of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFigures>,
    /// CPU time per second of wall time, CPUs.
    pub cpu: Cpu,
    /// KIOPS per busy CPU. CPUs that are busy with background jobs alone are subtracted.
    pub kiops_per_core: Interval,
    /// The CPU time in `kiops_per_core`: the threads' own if other programs were too busy.
    pub per_core: PerCore,
    /// Misses / I/Os that a sleep rule handled, 0..1; `None` without such an I/O.
    pub miss_rate: Option<Interval>,
    /// I/Os that slept / I/Os that a sleep rule handled, 0..1; below 1 as a thread sleeps only for
    /// its oldest I/O. `None` without such an I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_share: Option<Interval>,
    /// Mean sleep asked per I/O that a rule of q2c's own threads handled, ns; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_sleep_ns: Option<Interval>,
    /// Mean sleep from call to return, ns; `None` when none of q2c's own threads slept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_ns: Option<Interval>,
    /// The background jobs beside the jobs; `None` without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_jobs: Option<BackgroundJobs>,
    /// The slices of each successful trial, with its warm-up, if the backgrounds are phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<Vec<TrialSlice>>,
    /// The stages in the block layer, or why they are unknown; `None` if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<PointStages>,
    /// The mode that really ran, with its proof.
    pub effective_mode: EffectiveMode,
    /// CPUs of the jobs, in the order of the jobs.
    pub cpus: Vec<CpuId>,
    /// True if there are more jobs and helper threads than CPUs.
    pub oversubscribed: bool,
    /// Why IOPS seem too high: above the device's rating, or far above other interfaces.
    pub too_good: Option<String>,
    /// Number of trials with unsteady throughput at the end of the warm-up.
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

/// The figures of one kind of request in a pattern with several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindFigures {
    /// What the requests do: read, write or flush. A flush is no I/O, and counts only here.
    pub op: Op,
    /// Requests per second, all jobs.
    pub iops: Interval,
    /// Latency (U2C), ns.
    pub lat_ns: Latency,
    /// Misses / requests that a sleep rule handled, 0..1; `None` without such a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_rate: Option<Interval>,
}

impl KindFigures {
    /// The figures of the requests that do `op`; `None` if they are not told apart.
    pub fn find(kinds: &[KindFigures], op: Op) -> Option<&KindFigures> {
        kinds.iter().find(|kind| kind.op == op)
    }
}

impl From<Latencies<Interval>> for Latency {
    fn from(latencies: Latencies<Interval>) -> Self {
        Latency {
            mean: latencies.mean_ns,
            p50: latencies.p50_ns,
            p99: latencies.p99_ns,
            p999: latencies.p999_ns,
        }
    }
}

/// CPU time by its users: CPU seconds per second of wall time unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Threads of the jobs.
    pub job_s: Interval,
    /// Kernel threads that work for the jobs (SQPOLL, io-wq).
    pub helper_s: Interval,
    /// Interrupts and softirqs of the whole machine, by the kernel's tick accounting.
    pub softirq_s: Interval,
    /// All busy CPUs of the machine.
    pub busy_s: Interval,
    /// CPU time of jobs and helpers per I/O, ns.
    pub ns_per_io: Interval,
}

/// One curve of throughput over the number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputCurve {
    /// The first point of the curve. The other points differ only in the number of jobs.
    #[serde(flatten)]
    pub first: BenchPoint,
    /// The numbers of jobs, ascending.
    pub over: Vec<u32>,
    /// Fewest jobs from which every further job adds under a tenth of one job's throughput.
    pub knee: Option<u32>,
    /// Number of jobs with the highest throughput.
    pub peak: Option<u32>,
    /// Fewest jobs beyond the peak at which throughput has surely fallen.
    pub collapse: Option<u32>,
    /// Steps, efficiency and shares; `None` if the points give no shape.
    pub shape: Option<ScalingShape>,
    /// The fit of the universal scalability law; `None` if it cannot be fitted.
    pub usl: Option<Fit>,
    /// Why the curve has no shape or no fit.
    pub refused: Option<String>,
    /// How an I/O's time in the block layer grows along the curve; `None` without `--stages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<StageGrowth>,
    /// Possible reasons for the bend, with their evidence, in words.
    pub suspects: Vec<String>,
    /// Names of possible reasons for which no evidence was collected.
    pub not_looked_at: Vec<String>,
}

/// The background jobs beside the jobs of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackgroundJobs {
    /// CPU of each background job.
    pub cpus: Vec<CpuId>,
    /// Whether a background job has the CPU of a job or of its helper thread.
    pub shares_cpus: bool,
    /// I/Os per second of all background jobs, beside the jobs of the point.
    pub iops: Interval,
    /// I/Os per second of all background jobs alone, just before each trial.
    pub alone_iops: Interval,
    /// Busy CPUs of the machine while the background runs alone. KIOPS/core does not count them.
    pub rest_busy_cpus: Interval,
}

/// A slice of a trial's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialSlice {
    /// Start of the slice, seconds since the trial's jobs started.
    pub begin_s: f64,
    /// Length of the slice, seconds.
    pub seconds: f64,
    /// True if the slice counts; false in the warm-up, or after the counted part.
    pub counted: bool,
    /// I/Os per second of all jobs.
    pub iops: f64,
    /// I/Os per second of all background jobs.
    pub background_iops: f64,
    /// CPU time of the jobs' threads per second, CPUs.
    pub job_cpus: f64,
    /// Misses / I/Os that a sleep rule handled, 0..1; `None` when it handled none.
    pub miss_rate: Option<f64>,
    /// Mean sleep asked per I/O that a sleep rule handled, ns; `None` when it handled none.
    pub effective_sleep_ns: Option<f64>,
}

/// The figure by which methods are compared. More is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchMeasure {
    /// I/Os per second, all jobs.
    Iops,
    /// Thousand I/Os per second and per busy CPU.
    KiopsPerCore,
}

/// Leaders by one figure, at points that differ only in method and number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// Interface of all points, as asked.
    pub engine: String,
    /// Requests in flight in each job.
    pub depth: u16,
    /// Bytes per request.
    pub bs: Bytes,
    /// Pattern of access.
    pub rw: String,
    /// The background jobs, as asked; empty without background jobs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background: String,
    /// Hardware queues as asked; `None` leaves the device's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_queues: Option<u32>,
    /// `nr_requests` as asked; `None` leaves the device's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// The figure by which the methods are compared.
    pub measure: BenchMeasure,
    /// The leader at each number of jobs at which at least two methods have the figure; ascending.
    pub leaders: Vec<Leader>,
    /// The changes of the clear leader, in ascending order of jobs.
    pub changes: Vec<LeadChange>,
    /// Methods that lack a credible figure at some number of jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<Method>,
}

impl BenchCell {
    /// True if the kernel is known to have done something else than was asked.
    pub fn ignored_its_method(&self) -> bool {
        use ModeNote::{Interrupted, PollIgnored};
        let mode = &self.effective_mode.mode;
        let ignored = matches!(mode.note, Some(PollIgnored | Interrupted(_)));
        ignored || mode.kind == ModeKind::NotProved
    }

    /// The run with the capture; `None` if there was none.
    pub fn stage_run(&self) -> Option<&StageRun> {
        match &self.stages {
            Some(PointStages::Seen(run)) => Some(run),
            _ => None,
        }
    }

    /// True if the point has figures, ran as asked, and is credible.
    pub fn is_comparable(&self) -> bool {
        self.iops.trials > 0 && !self.ignored_its_method() && self.too_good.is_none()
    }

    /// The figure of this measure.
    pub fn figure(&self, measure: BenchMeasure) -> Interval {
        match measure {
            BenchMeasure::Iops => self.iops,
            BenchMeasure::KiopsPerCore => self.kiops_per_core,
        }
    }
}

/// The stages of a point's I/Os, or why they are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointStages {
    /// The block layer was captured.
    Seen(Box<StageRun>),
    /// There are no stages.
    Unseen(UnseenReason),
}

/// An additional run of a point with the block layer captured. The capture costs CPU time at each
/// I/O, so the speed of this run is not that of the trials.
///
/// Stages, bottleneck and queues cover the I/Os that the point's jobs queued after the warm-up.
/// They mean the same as in [`AnalyzeResult`](crate::analyze::AnalyzeResult).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRun {
    /// The means by which the block layer was captured.
    pub captured_by: CapturedBy,
    /// Length of the counted part, seconds.
    pub seconds: f64,
    /// I/Os of all jobs in the counted part, as the jobs counted them when they reaped.
    pub ios: u64,
    /// I/Os of the jobs that the capture saw; a split I/O counts once for each part, one in a hole
    /// not at all.
    pub captured: u64,
    /// Captured I/Os of the jobs that have a completion.
    pub completed: u64,
    /// I/Os of background jobs and other programs on these disks, which the stages leave out.
    pub others: u64,
    /// CPU time of the thread that read the capture, percent of one CPU.
    pub reader_cpu_pct: f64,
    /// I/Os (with tracefs: events) that the capture lost in the whole run, of all threads.
    pub lost: u64,
    /// I/Os of all threads that were dropped for lack of memory.
    pub not_kept: u64,
    /// I/Os and events of all threads that are in no stage, by reason, including the lost ones.
    pub unmatched: BTreeMap<String, u64>,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The stage that takes most time, without shares over time; `None` without an I/O.
    pub bottleneck: Option<Bottleneck>,
    /// The hardware queues of each device; empty if the capture does not name them.
    pub queues: Vec<DeviceQueues>,
    /// Sleeps of the jobs while they wait for a request (tag); `None` if they were not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_waits: Option<TagWaits>,
}

/// Sleeps of a point's jobs while they wait for a request (tag), or why they are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagWaits {
    /// The kernel's sleeps were watched.
    Counted {
        /// The hardware queues at which a job slept, by device and queue; empty if no job slept.
        queues: Vec<QueueTagWaits>,
        /// Sleeps of the whole run for which the probe had no room.
        lost: u64,
    },
    /// The sleeps were not watched.
    Unseen(UnseenReason),
}

/// Sleeps of a point's jobs at one hardware queue in the counted part, which is exact to 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTagWaits {
    /// The device, `major:minor`.
    pub device: String,
    /// The hardware queue.
    pub queue: u32,
    /// True if the scarce requests were the I/O scheduler's, false if the driver's.
    pub of_scheduler: bool,
    /// Times that a job slept. One I/O may sleep several times.
    pub sleeps: u64,
    /// Sum of the waits, ns.
    pub ns: u64,
}

impl TagWaits {
    /// Number of sleeps at all queues and their total time, ns; `None` if unknown.
    pub fn sum(&self) -> Option<(u64, u64)> {
        let TagWaits::Counted { queues, .. } = self else {
            return None;
        };
        let sum = |count: fn(&QueueTagWaits) -> u64| queues.iter().map(count).sum();
        Some((sum(|queue| queue.sleeps), sum(|queue| queue.ns)))
    }
}

/// The methods that a run of `q2c tune` recommends, which a benchmark runs as points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedRun {
    /// The run's folder or its `result.json`, as the user gave it.
    pub run: String,
    /// The target that was tuned.
    pub target: String,
    /// One method per block size and, from a run over several numbers of jobs, per number of jobs.
    pub methods: Vec<TunedMethod>,
}

/// The method that a run of `q2c tune` recommends at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedMethod {
    /// Block size of the requests.
    pub bs: Bytes,
    /// The number of jobs; `None` for all numbers, if the run tuned only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The recommended method.
    pub method: Method,
}

impl TunedRun {
    /// The method for this block size and number of jobs; `None` if the run has no answer for them.
    pub fn method(&self, bs: Bytes, jobs: u32) -> Option<&Method> {
        let fits = |tuned: &&TunedMethod| tuned.bs == bs && tuned.jobs.is_none_or(|n| n == jobs);
        let tuned = self.methods.iter().find(fits);
        tuned.map(|tuned| &tuned.method)
    }

    /// True if `method` is recommended for this block size, at any number of jobs.
    pub fn names(&self, bs: Bytes, method: &Method) -> bool {
        let mut methods = self.methods.iter();
        methods.any(|tuned| tuned.bs == bs && tuned.method == *method)
    }
}

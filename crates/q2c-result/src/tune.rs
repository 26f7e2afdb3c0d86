//! The result of `q2c tune`: `result.json`, schema `q2c.tune/3`.

use crate::mode::EffectiveMode;
use crate::{DoctorReport, Machine, Target, Warning};
use q2c_model::{Bytes, CostModel, CpuId, Nanos};
use q2c_policy::Method;
use q2c_policy::method::parts;
use q2c_stats::{Interval, Ratio};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.tune/3";
/// Earlier versions that can be read.
pub const EARLIER: [&str; 1] = ["q2c.tune/2"];

/// One run of `q2c tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
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
    /// The job that was measured.
    pub job: Job,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// What `q2c doctor` said.
    pub doctor: DoctorReport,
    /// Calibration, one entry per block size.
    pub calibration: Vec<Calibration>,
    /// Every method and policy verified live, by block size.
    pub cells: Vec<Cell>,
    /// The sweep over the first recording, by block size.
    pub sweeps: Vec<Sweep>,
    /// What to use, one entry per block size.
    pub recommendation: Vec<Recommendation>,
    /// What the trials taught about the calibrated costs, one entry per block size.
    pub lessons: Vec<Lesson>,
    /// How well the simulator predicted, over sleeping cells.
    pub fidelity: Fidelity,
    /// CPU time per I/O of the null engine with recording on, nanoseconds: the harness's own cost.
    pub harness_floor_ns: f64,
    /// The same with nothing of an I/O kept and none timed; 0 in results of versions that did not
    /// measure it.
    #[serde(default)]
    pub harness_bare_ns: f64,
    /// Methods that do not exist here, with the reason.
    #[serde(default)]
    pub unavailable: Vec<Unavailable>,
    /// Ways in which this result can mislead.
    pub warnings: Vec<Warning>,
}

/// A method that could not be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unavailable {
    /// Which.
    pub method: Method,
    /// Why.
    pub reason: String,
}

/// The measured job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Interface of the foreground: `io_uring`, `libaio`, `sim:50us`.
    pub engine: String,
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
    /// Block sizes, in the order measured.
    pub block_sizes: Vec<Bytes>,
    /// Foreground threads, depth 1 each.
    pub jobs: u32,
    /// Their CPUs.
    pub cpus: Vec<CpuId>,
    /// Background jobs in words, one entry each; empty for none.
    pub background: Vec<String>,
    /// Length of a trial, seconds.
    pub trial_seconds: f64,
    /// Trials that an answer was to stand on; what lost earlier has fewer.
    pub trials: u32,
    /// What "best" meant: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits that had to be kept, in words.
    pub limits: Vec<String>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// One method or policy at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Block size.
    pub bs: Bytes,
    /// In two fields: `method` (`interrupt`, `poll`, `hybrid` in user space, `hybrid-kernel` in the
    /// kernel) and `policy` (the sleep rule with its parameters; of `hybrid-kernel` the fixed sleep,
    /// such as `57us`, or empty for the kernel's own; empty for interrupt and poll).
    #[serde(flatten, with = "parts")]
    pub method: Method,
    /// Why it was run: `baseline`, `linux`, `published`, `kernel`, `user`; by simulation `robust`,
    /// `safe`, `sharp`, `family`, `below floor`, `front`.
    pub role: String,
    /// Whether it sleeps before it polls.
    pub sleeping: bool,
    /// Predicted from the polled slices around each trial, median over trials; `None` where nothing
    /// is predicted (poll).
    pub predicted: Option<Prediction>,
    /// Predicted from the first recording: the difference to `predicted` is the device's drift.
    pub predicted_first: Option<Prediction>,
    /// Measured.
    pub measured: Measured,
    /// Measured, each trial over the polled slices between its parts: what verdicts stand on, since
    /// both saw the same device. `None` without trials, and for the kernel's own hybrid polling,
    /// which has no slices.
    pub relative: Option<Relative>,
    /// What the kernel really did, with its proof.
    pub effective_mode: EffectiveMode,
    /// Per-interval series of one trial (the median one by IOPS).
    pub series: Series,
    /// Latency (U2C) distribution over all trials: pairs of quantile (0..1) and nanoseconds.
    pub latency_quantiles: Vec<(f64, f64)>,
}

/// What the simulator says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// I/Os per second, all foreground jobs.
    pub iops: f64,
    /// Thread CPU of the foreground jobs, percent of one CPU each (0..100).
    pub cpu_pct: f64,
    /// Share of I/Os that were complete when the sleep ended, 0..1.
    pub miss_rate: f64,
    /// Sum of sleeps asked / I/Os handled.
    pub effective_sleep_ns: f64,
    /// Thousand I/Os per second and busy CPU of the machine, idle baseline taken off.
    pub kiops_per_core: f64,
    /// Latency (U2C), 99th percentile.
    pub p99_ns: f64,
}

/// What was measured: medians over trials with their interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// I/Os per second, all foreground jobs.
    pub iops: Interval,
    /// Thread CPU of the foreground jobs, percent of one CPU each.
    pub cpu_pct: Interval,
    /// Share of I/Os complete when the sleep ended, 0..1.
    pub miss_rate: Interval,
    /// Sum of sleeps asked / I/Os handled.
    pub effective_sleep_ns: Interval,
    /// Thousand I/Os per second and busy CPU.
    pub kiops_per_core: Interval,
    /// Latency (U2C), 99th percentile.
    pub p99_ns: Interval,
    /// Mean sleep from call to return, over the I/Os that slept.
    pub slept_ns: Interval,
    /// Latency (U2C): mean.
    pub mean_ns: Interval,
    /// Latency (U2C): median.
    pub p50_ns: Interval,
    /// Latency (U2C): 99.9th percentile.
    pub p999_ns: Interval,
    /// CPUs busy on the whole machine, idle baseline taken off.
    pub busy_cpus: Interval,
    /// Voluntary context switches per I/O that slept (or per I/O for interrupt).
    pub switches_per_io: Interval,
    /// I/Os that failed, over all trials.
    pub errors: u64,
    /// I/Os in all, over all trials.
    pub ios: u64,
}

/// Per-interval values of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// End of each interval, seconds from the trial's start.
    pub t_s: Vec<f64>,
    /// I/Os per second.
    pub iops: Vec<f64>,
    /// Miss rate, 0..1.
    pub miss_rate: Vec<f64>,
    /// Effective sleep, ns.
    pub effective_sleep_ns: Vec<f64>,
    /// Mean sleep from call to return, ns.
    pub slept_ns: Vec<f64>,
    /// Latency mean, ns.
    pub mean_ns: Vec<f64>,
    /// Latency p99, ns.
    pub p99_ns: Vec<f64>,
    /// Thread CPU, percent of one CPU; `None` where there is no reading.
    pub cpu_pct: Vec<Option<f64>>,
}

/// One block size's calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Block size.
    pub bs: Bytes,
    /// CPU it was measured on.
    pub cpu: CpuId,
    /// CPU that took most of the device's interrupts meanwhile; `None` when it could not be seen.
    pub irq_cpu: Option<CpuId>,
    /// Whether a stored calibration was reused.
    pub reused: bool,
    /// Seconds it took.
    pub seconds: f64,
    /// The fitted model.
    pub cost: CostModel,
    /// The measured points it was fitted to.
    pub points: Vec<CalibrationPoint>,
}

/// One calibration point: many I/Os with the same fixed sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// Sleep asked, ns; 0 is polling.
    pub asked_ns: f64,
    /// I/Os.
    pub ios: u64,
    /// Share whose completion fell into the sleep, 0..1.
    pub miss_rate: f64,
    /// Wake delay (slept - asked): median, ns.
    pub delay_p50_ns: f64,
    /// Wake delay: 99th percentile, ns.
    pub delay_p99_ns: f64,
    /// Thread CPU per I/O, ns.
    pub cpu_ns: f64,
    /// Median latency from the submission's return, ns.
    pub wait_p50_ns: f64,
}

/// A sweep over one recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Block size.
    pub bs: Bytes,
    /// I/Os in the recording.
    pub ios: u64,
    /// Seconds the sweep took.
    pub seconds: f64,
    /// Every configuration.
    pub cells: Vec<SweepCell>,
    /// Indices into `cells`: the Pareto front, IOPS against CPU.
    pub pareto: Vec<usize>,
    /// Index of the best by the objective; `None` when no cell keeps the limits.
    pub best: Option<usize>,
    /// The bound: a rule that knows each latency.
    pub oracle: Prediction,
    /// Classic polling, simulated on the same recording.
    pub poll: Prediction,
    /// The IOPS floor used and where it came from, in words.
    pub floor: String,
    /// The floor, IOPS.
    pub floor_iops: f64,
}

/// One simulated configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepCell {
    /// Rule's name: `mean`, `min`, `pas`.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name (ratio as a fraction, durations in ns), for heat maps.
    pub params: BTreeMap<String, f64>,
    /// What it gives.
    #[serde(flatten)]
    pub gives: Prediction,
}

/// A sleep that gains less than this over polling, in KIOPS/core, is not worth it.
pub const WORTH: f64 = 1.02;
/// Methods with more thread CPU than this, percent, do not sleep in earnest.
pub const SAVING: f64 = 97.0;

/// A method's trials over classic polling beside them. Ratios; 1 is polling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// I/Os per second.
    pub iops: Interval,
    /// Thousand I/Os per second and busy CPU.
    pub kiops_per_core: Interval,
    /// Whose CPU that is.
    pub cores: PerCore,
}

/// Whose CPU time KIOPS/core counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerCore {
    /// All busy CPUs of the machine, interrupts included.
    #[default]
    Machine,
    /// The submitting threads' own, where the machine's could not be read.
    Threads,
}

/// What kind of answer a block size has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A sleep rule kept the floor and was best by the objective.
    Rule,
    /// Interrupts kept the floor and were best by the objective.
    Interrupt,
    /// Sleeping gains KIOPS/core, but no method that sleeps kept the floor.
    TradeOff,
    /// No method that sleeps gained 2 % in KIOPS/core over polling.
    NoRoom,
    /// Sleeping gains KIOPS/core, but not within the limits on latency and CPU.
    Limits,
    /// Nothing that sleeps was run.
    Unverified,
}

/// A method in the two fields that [`Cell`] has for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MethodName(#[serde(with = "parts")] pub Method);

/// What to use at one block size. Names and numbers; the words are the report's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Block size.
    pub bs: Bytes,
    /// What kind of answer it is.
    pub verdict: Verdict,
    /// Method to use, in the two fields `method` and `policy`.
    #[serde(flatten, with = "parts")]
    pub method: Method,
    /// The floor: IOPS over those of polling beside a trial.
    pub floor: f64,
    /// What the floor stands for, as asked on the command line (`93%`, `9300`); empty for the
    /// standard floor.
    pub floor_asked: String,
    /// Of a trade-off: the rule, or interrupts, that loses least for what it saves.
    pub nearest: Option<MethodName>,
    /// Whether the recommended method adapts to a device that changes; a fixed sleep does not.
    pub follows: bool,
    /// Of a rule that does not follow the device: the best one that does, among those that kept the
    /// floor.
    pub following: Option<MethodName>,
    /// Methods that more trials might still make the answer; the recommended one is among them
    /// where its IOPS are within the noise of the floor. Empty: the answer is clear.
    pub open: Vec<MethodName>,
    /// How much the relative IOPS of single trials of one method scatter, percent (standard
    /// deviation).
    pub noise_pct: f64,
    /// KIOPS/core of the recommended rule over that of Linux's rule, both measured; `None` without
    /// a rule or a comparison.
    pub over_linux: Option<Ratio>,
}

/// What the trials of one block size taught about its calibrated costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Block size.
    pub bs: Bytes,
    /// Rounds of trials.
    pub rounds: u32,
    /// Trials of methods that sleep, which it was learned from.
    pub trials: u32,
    /// Added to the latency of an I/O that slept, ns.
    pub latency_ns: f64,
    /// Added to that latency for each ns of sleep asked; negative where the device is faster while
    /// the CPU sleeps.
    pub latency_per_sleep: f64,
    /// Added to the delay of each wake-up, ns.
    pub wake_ns: f64,
    /// Thread CPU of a sleep over the calibrated one.
    pub sleep_cpu: f64,
}

/// Prediction against measurement over sleeping cells. Errors are absolute values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Sleeping cells compared.
    pub cells: u32,
    /// IOPS: median of |predicted - measured| / measured, percent.
    pub iops_error_pct_median: f64,
    /// IOPS: largest.
    pub iops_error_pct_max: f64,
    /// CPU: median difference, percentage points.
    pub cpu_points_median: f64,
    /// CPU: largest.
    pub cpu_points_max: f64,
    /// Miss rate: median difference, percentage points.
    pub miss_points_median: f64,
    /// Miss rate: largest.
    pub miss_points_max: f64,
    /// Cells left out: a sleep rule whose sleeps ended without leaving the CPU does not sleep.
    pub never_slept: u32,
    /// Device drift: median of |first prediction - paired prediction| / paired, IOPS, percent.
    pub drift_pct: f64,
}

impl TuneResult {
    /// Length of a trial as a duration.
    #[must_use]
    pub fn trial(&self) -> Nanos {
        Nanos::from_secs_f64(self.job.trial_seconds)
    }
}

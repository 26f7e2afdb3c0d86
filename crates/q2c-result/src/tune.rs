//! The result of `q2c tune`: `result.json`, schema `q2c.tune/4`.

use crate::bench::KindFigures;
use crate::late::LateTime;
use crate::mode::EffectiveMode;
use crate::program::Program;
use crate::role::CellRole;
use crate::{DoctorReport, Machine, Provenance, Target, Warning};
use q2c_model::stats::{Interval, Ratio};
use q2c_model::{Bytes, CostModel, CpuId, Latencies, Rates, SimulatedFigures};
use q2c_policy::Method;
use q2c_policy::method::parts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.tune/4";

/// One run of `q2c tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// When and where the run was made, and how long it took.
    pub provenance: Provenance,
    /// False when the run was stopped early; the figures that it has are still valid.
    pub complete: bool,
    /// The job that was measured.
    pub job: Job,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// The report of `q2c doctor`.
    pub doctor: DoctorReport,
    /// Calibrations, one per block size.
    pub calibration: Vec<Calibration>,
    /// Every method and policy that was tried live, at each block size.
    pub cells: Vec<Cell>,
    /// Sweeps over the first recording, one per block size.
    pub sweeps: Vec<Sweep>,
    /// Recommendations, one per block size.
    pub recommendation: Vec<Recommendation>,
    /// Corrections of the calibrated costs that the trials called for, one per block size.
    pub lessons: Vec<Lesson>,
    /// Errors of the predictions, over sleeping cells.
    pub fidelity: Fidelity,
    /// CPU time per I/O of the null engine while it records, ns: q2c's own cost.
    pub harness_floor_ns: f64,
    /// CPU time per I/O of the null engine without records and timestamps, ns.
    pub harness_bare_ns: f64,
    /// Methods that cannot run here, with their reasons.
    pub unavailable: Vec<Unavailable>,
    /// The program that the workload copies; `None` for a workload that the user described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// A method that could not be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The method that cannot run here.
    pub method: Method,
    /// The reason in words.
    pub reason: String,
}

/// The job that was measured, and the settings of its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Interface of the foreground: `io_uring`, `libaio`, `sim:50us`.
    pub engine: String,
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
    /// Sleep of a foreground thread between I/Os, ns; `None` if it submits at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ns: Option<f64>,
    /// Block sizes, in the order measured.
    pub block_sizes: Vec<Bytes>,
    /// Number of foreground threads, each with depth 1.
    pub jobs: u32,
    /// CPUs of the foreground threads.
    pub cpus: Vec<CpuId>,
    /// Background jobs in words, one entry each; empty without them.
    pub background: Vec<String>,
    /// Length of a trial, seconds.
    pub trial_seconds: f64,
    /// Number of trials that an answer needs. Methods that lost early have fewer.
    pub trials: u32,
    /// The figure that "best" refers to: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits that had to be kept, in words.
    pub limits: Vec<String>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// One method or policy at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Block size of the requests.
    pub bs: Bytes,
    /// The method; in JSON the fields `method` and `policy`, which is the sleep rule with its
    /// parameters. For `hybrid-kernel` it is the fixed sleep, such as `57us`, or empty for the
    /// kernel's own.
    #[serde(flatten, with = "parts")]
    pub method: Method,
    /// Why the method was tried first.
    pub role: CellRole,
    /// Whether the method sleeps before it polls.
    pub sleeping: bool,
    /// Mean prediction from the trials' polled slices; `None` for classic and the kernel's polling.
    pub predicted: Option<Prediction>,
    /// The prediction from the first recording; it differs by the device's drift.
    pub predicted_first: Option<Prediction>,
    /// The figures of the trials.
    pub measured: Measured,
    /// Each trial's figures over its polled slices (for the kernel's methods, over classic polling
    /// before and after it). Verdicts use these ratios. `None` without trials.
    pub relative: Option<Relative>,
    /// What the kernel really did, with its proof.
    pub effective_mode: EffectiveMode,
    /// Figures by interval of the trial with the median IOPS.
    pub series: Series,
    /// Distribution of the latency (U2C) over all trials: pairs of quantile (0..1) and nanoseconds.
    pub latency_quantiles: Vec<(f64, f64)>,
    /// The parts of U2C, from a run of its own after the trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateTime>,
}

/// The simulator's figures of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Speed, cost and sleeps of all foreground jobs.
    #[serde(flatten)]
    pub rates: Rates<f64>,
    /// Thousand I/Os per second per busy CPU of the machine; the idle baseline is subtracted.
    pub kiops_per_core: f64,
    /// 99th percentile latency (U2C), ns.
    pub p99_ns: f64,
}

impl From<SimulatedFigures> for Prediction {
    fn from(figures: SimulatedFigures) -> Self {
        Prediction {
            rates: figures.rates,
            kiops_per_core: figures.kiops_per_core,
            p99_ns: figures.latencies.p99_ns,
        }
    }
}

/// The figures of the trials of a cell: medians over the trials, with their intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Speed, cost and sleeps of all foreground jobs.
    #[serde(flatten)]
    pub rates: Rates<Interval>,
    /// Thousand I/Os per second per busy CPU of the machine.
    pub kiops_per_core: Interval,
    /// Mean sleep from call to return over the I/Os that slept, ns.
    pub slept_ns: Interval,
    /// Latencies (U2C).
    #[serde(flatten)]
    pub latencies: Latencies<Interval>,
    /// Busy CPUs of the whole machine; the idle baseline is subtracted.
    pub busy_cpus: Interval,
    /// Voluntary context switches per I/O that slept, or per I/O when none slept.
    pub switches_per_io: Interval,
    /// All I/Os of all trials.
    pub ios: u64,
    /// Speed and latencies by kind of request; empty for a pattern with requests of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFigures>,
}

/// Figures of one trial by interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// End of each interval, seconds from the trial's start.
    pub t_s: Vec<f64>,
    /// Speed, cost and sleeps of all lanes; `None` if an interval has no reading.
    #[serde(flatten)]
    pub rates: Rates<Vec<Option<f64>>>,
    /// Mean sleep from call to return, ns.
    pub slept_ns: Vec<f64>,
    /// Mean latency (U2C), ns.
    pub mean_ns: Vec<f64>,
    /// 99th percentile latency (U2C), ns.
    pub p99_ns: Vec<f64>,
}

/// The calibration of one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The engine that did the I/O, with its options; empty in calibrations of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub engine: String,
    /// Block size of the requests.
    pub bs: Bytes,
    /// CPU that the calibration ran on.
    pub cpu: CpuId,
    /// CPU that took most of the device's interrupts during it; `None` if that could not be seen.
    pub irq_cpu: Option<CpuId>,
    /// True if this is the stored calibration of an earlier run.
    pub reused: bool,
    /// Length of the calibration, seconds.
    pub seconds: f64,
    /// The fitted cost model.
    pub cost: CostModel,
    /// The measured points that the model was fitted to.
    pub points: Vec<CalibrationPoint>,
}

/// One calibration point: many I/Os with the same fixed sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// Sleep asked, ns; 0 is polling.
    pub asked_ns: f64,
    /// I/Os with this sleep.
    pub ios: u64,
    /// Share of the I/Os that were complete when the sleep ended, 0..1.
    pub miss_rate: f64,
    /// Median wake delay (slept - asked), ns.
    pub delay_p50_ns: f64,
    /// 99th percentile wake delay, ns.
    pub delay_p99_ns: f64,
    /// Thread CPU per I/O, ns.
    pub cpu_ns: f64,
    /// Median wait, from the submission's return to the reaping, ns.
    pub wait_p50_ns: f64,
}

/// A sweep over one recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Block size of the requests.
    pub bs: Bytes,
    /// I/Os in the recording.
    pub ios: u64,
    /// Every simulated configuration.
    pub cells: Vec<SweepCell>,
    /// Indices into `cells` of the Pareto front of IOPS against CPU.
    pub pareto: Vec<usize>,
    /// Index of the best cell by the objective; `None` when no cell keeps the limits.
    pub best: Option<usize>,
    /// Figures of the oracle, which knows each device time and which no rule can beat.
    pub oracle: Prediction,
    /// Figures of classic polling, simulated on the same recording.
    pub poll: Prediction,
    /// The IOPS floor and its origin, in words.
    pub floor: String,
    /// The floor, IOPS.
    pub floor_iops: f64,
}

/// One simulated configuration: a sleep rule with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepCell {
    /// Name of the rule: `mean`, `min`, `pas`.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name (ratio as a fraction, durations in ns), for heat maps.
    pub params: BTreeMap<String, f64>,
    /// True if the cell keeps floor and limits; `None` if only `floor_iops` can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_limits: Option<bool>,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: Prediction,
}

/// The standard floor as a share of polling's IOPS; if all sleeps cost more, there is a trade-off.
pub const STANDARD_FLOOR: f64 = 0.97;
/// Smallest ratio to polling's KIOPS/core at which a method pays.
pub const MIN_GAIN: f64 = 1.1;
/// Largest CPU use per thread, percent of one CPU, at which a rule has left the CPU.
pub const MAX_CPU_PCT: f64 = 97.0;

/// The figures of a method's trials over those of their polled slices. Ratios; 1 is polling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Ratio of I/Os per second.
    pub iops: Interval,
    /// Ratio of thousand I/Os per second per busy CPU.
    pub kiops_per_core: Interval,
    /// The CPU time by which KIOPS/core divides.
    pub cores: PerCore,
}

/// The CPU time by which KIOPS/core divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerCore {
    /// All busy CPUs of the machine, interrupts included.
    #[default]
    Machine,
    /// The submitting threads' own, if the machine's is unknown or was less than theirs.
    Threads,
}

/// The kind of answer that a block size has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A sleep rule kept the floor and was best by the objective.
    Rule,
    /// Interrupts kept the floor and were best by the objective.
    Interrupt,
    /// Interrupts or sleeping gain KIOPS/core, but no method that pays kept the floor.
    TradeOff,
    /// Nothing that leaves the CPU gained 10 % in KIOPS/core over polling.
    NoRoom,
    /// Interrupts or sleeping gain KIOPS/core, but not within the limits on latency and CPU.
    Limits,
    /// Nothing that sleeps was run.
    Unverified,
}

/// A question about a block size that its trials leave open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenQuestion {
    /// The answer rests on single trials, which have no interval.
    SingleTrials {
        /// Number of methods with one trial.
        single: u32,
        /// Number of methods with at least one trial.
        tried: u32,
    },
    /// Planned methods without a comparable trial: the run was stopped, or all trials failed.
    Untried(Vec<MethodName>),
    /// The floor lies within the interval of the recommended method's relative IOPS.
    FloorWithin {
        /// Smallest relative IOPS of a trial.
        min: f64,
        /// Largest relative IOPS of a trial.
        max: f64,
    },
}

/// A method that kept the floor only in the device states that its own trials happened to meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LuckyMethod {
    /// The method.
    pub method: MethodName,
    /// Median relative IOPS of its trials.
    pub iops: f64,
    /// Relative IOPS over all device states of the run, by the simulation's ratio for each trial.
    pub iops_over_run: f64,
}

/// A method; in JSON the fields `method` and `policy` of [`Cell`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MethodName(#[serde(with = "parts")] pub Method);

/// The method to use at one block size, as names and numbers. The report makes the words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Block size of the requests.
    pub bs: Bytes,
    /// The kind of answer.
    pub verdict: Verdict,
    /// The method to use; in JSON the fields `method` and `policy`.
    #[serde(flatten, with = "parts")]
    pub method: Method,
    /// The floor, as a share of the IOPS of polling beside a trial.
    pub floor: f64,
    /// The floor as asked (`93%`, `9300`); empty for the standard floor.
    pub floor_asked: String,
    /// The rule or interrupts, whichever a trade-off names; `None` for other verdicts.
    pub nearest: Option<MethodName>,
    /// Whether the recommended method adapts to a device that changes; a fixed sleep does not.
    pub follows: bool,
    /// The best rule above the floor that follows the device, if the recommended one does not.
    pub following: Option<MethodName>,
    /// The best of the kernel's own ways to sleep by the objective, relative to its classic
    /// polling, among those that pay and keep floor and limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<MethodName>,
    /// Methods that more trials might still make the answer, which can include the recommended one;
    /// empty when the answer is clear.
    pub open: Vec<MethodName>,
    /// What the trials leave open about the answer, besides `open`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<OpenQuestion>,
    /// The best method by its own trials, if it loses too many IOPS in other device states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<LuckyMethod>,
    /// Standard deviation of the relative IOPS of single trials of one method, percent, pooled over
    /// all methods. An assumed 4 % is included like one more deviation.
    pub noise_pct: f64,
    /// KIOPS/core of the recommended rule over Linux's rule, measured; `None` without either.
    pub over_linux: Option<Ratio>,
}

impl Recommendation {
    /// A clear answer: the method follows the device, and the trials leave nothing open.
    pub fn clear(bs: Bytes, verdict: Verdict, method: Method, floor: f64) -> Self {
        Recommendation {
            bs,
            verdict,
            method,
            floor,
            floor_asked: String::new(),
            nearest: None,
            follows: true,
            following: None,
            kernel: None,
            open: Vec::new(),
            undecided: Vec::new(),
            elsewhere: None,
            noise_pct: 0.0,
            over_linux: None,
        }
    }

    /// True if the trials leave nothing open.
    pub fn is_settled(&self) -> bool {
        self.open.is_empty() && self.undecided.is_empty() && self.verdict != Verdict::Unverified
    }
}

/// The correction of the calibrated costs that the trials of one block size called for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Block size of the requests.
    pub bs: Bytes,
    /// Number of rounds of trials.
    pub rounds: u32,
    /// Number of trials of sleeping methods, to which the correction was fitted.
    pub trials: u32,
    /// Time added to the latency of an I/O that slept, ns.
    pub latency_ns: f64,
    /// Latency added per ns of sleep asked; below 0 the device is faster while the CPU sleeps.
    pub latency_per_sleep: f64,
    /// Time added to the delay of each wake-up, ns.
    pub wake_ns: f64,
    /// Thread CPU of a sleep, as a multiple of the calibrated one.
    pub sleep_cpu: f64,
}

/// Absolute errors of paired predictions over sleeping cells, from first rounds only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Sleeping cells that were compared.
    pub cells: u32,
    /// IOPS: median of |predicted - measured| / measured, percent.
    pub iops_error_pct_median: f64,
    /// IOPS: largest error, percent.
    pub iops_error_pct_max: f64,
    /// Thread CPU: median difference, percentage points.
    pub cpu_points_median: f64,
    /// Thread CPU: largest difference, percentage points.
    pub cpu_points_max: f64,
    /// Miss rate: median difference, percentage points.
    pub miss_points_median: f64,
    /// Miss rate: largest difference, percentage points.
    pub miss_points_max: f64,
    /// Number of cells left out, because most of their sleeps ended without leaving the CPU.
    pub never_slept: u32,
    /// Device drift: median of |first prediction - paired prediction| / paired, IOPS, percent.
    pub drift_pct: f64,
    /// The errors by block size, because each verdict is about one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_block_size: Vec<SizeFidelity>,
}

/// The errors of paired predictions at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeFidelity {
    /// Block size of the requests.
    pub bs: Bytes,
    /// Sleeping cells that were compared.
    pub cells: u32,
    /// |predicted - measured| / measured IOPS, percent.
    pub iops_pct: Errors,
    /// Thread CPU: difference, percentage points.
    pub cpu_points: Errors,
    /// Miss rate: difference, percentage points.
    pub miss_points: Errors,
}

/// Absolute errors over cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// The median.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The largest.
    pub max: f64,
    /// The method of the cell with the largest error.
    pub worst: MethodName,
}

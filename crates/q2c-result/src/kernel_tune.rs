//! The result of `q2c poll tune-kernel`: schema `q2c.kernel-tune/1`.

use crate::kernel_watch::KernelInterval;
use crate::role::CellRole;
use crate::sweep::SweepInput;
use crate::tune::{PerCore, Relative, Verdict};
use crate::{Device, Machine, Warning};
use q2c_model::stats::Interval;
use q2c_model::{CostModel, Nanos, Rates, SimulatedFigures};
use q2c_policy::Method;
use q2c_policy::method::parts;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.kernel-tune/1";

/// The rule by which the kernel's hybrid polling of a device should sleep, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelTuneResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the run, seconds.
    pub seconds: f64,
    /// The settings of the run.
    pub job: KernelTuneJob,
    /// Machine facts.
    pub machine: Machine,
    /// Facts of the device.
    pub device: Device,
    /// The recording under classic polling; latencies are D2C.
    pub recorded: SweepInput,
    /// The measured points of the calibration.
    pub points: Vec<KernelPoint>,
    /// The cost model that was fitted to the points.
    pub cost: CostModel,
    /// Number of rules that were simulated.
    pub simulated: u64,
    /// Number of rules that were left out because the kernel cannot follow them.
    pub not_followed: u64,
    /// The best rule by simulation; `None` if no rule kept the limits: the published rule ran then.
    pub best: Option<String>,
    /// The methods that ran in the kernel.
    pub methods: Vec<KernelMethod>,
    /// The kind of answer.
    pub verdict: Verdict,
    /// The method to use; in JSON the fields `method` and `policy`. `poll` is classic polling,
    /// `hybrid-kernel` with a rule is steering, and without a rule it is the kernel's own sleep.
    #[serde(flatten, with = "parts")]
    pub recommended: Method,
    /// The floor: the smallest share of classic polling's IOPS that a method must keep.
    pub floor: f64,
    /// Completions that the probe could not record for lack of room.
    pub lost: u64,
    /// CPU time of q2c itself during the trials with steering, percent of one CPU.
    pub own_cpu_pct: f64,
    /// Whether the setting was restored, in words; empty if it was never changed.
    pub restored: String,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// The settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelTuneJob {
    /// The command that polled the device, word by word; empty if the load ran already.
    pub command: Vec<String>,
    /// Length of the recording.
    pub record_ns: Nanos,
    /// Length of a trial.
    pub trial_ns: Nanos,
    /// Trials of each method.
    pub trials: u32,
    /// The figure by which the best rule was chosen: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits in words.
    pub limits: Vec<String>,
    /// Seed of the draws and of the order of the trials.
    pub seed: u64,
}

/// A point of the calibration: requests with one fixed sleep in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelPoint {
    /// Sleep asked, ns.
    pub asked_ns: f64,
    /// Number of polled requests.
    pub ios: u64,
    /// Share of the requests that were complete when the sleep ended, 0..1.
    pub miss_rate: f64,
    /// Mean wake-up delay, ns: from the timer's start to the next poll, minus the sleep asked.
    pub delay_ns: f64,
    /// Median lateness, ns: time from the driver to the completion, minus the sleep asked.
    pub late_p50_ns: f64,
    /// 99th percentile of the lateness, ns.
    pub late_p99_ns: f64,
    /// Thread CPU per request, ns.
    pub cpu_ns: f64,
}

/// One method, as it ran in the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelMethod {
    /// The method; in JSON the fields `method` and `policy`.
    #[serde(flatten, with = "parts")]
    pub method: Method,
    /// Why the method was tried.
    pub role: CellRole,
    /// Mean prediction of the trials, from classic polling before and after each of them.
    pub predicted: SimulatedFigures,
    /// The prediction from the first recording; it differs by the drift of device and load.
    pub predicted_first: SimulatedFigures,
    /// The figures of the trials.
    pub measured: KernelMeasured,
    /// Errors by trial: predicted / measured for IOPS and sleep, difference for CPU and misses.
    pub off: Rates<Interval>,
    /// Each trial's figures over the mean of classic polling before and after the trial.
    pub relative: Relative,
    /// The intervals of the trial with the median IOPS.
    pub series: Vec<KernelInterval>,
}

/// The figures of the trials of one method: medians over the trials with their intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelMeasured {
    /// Rates of polled requests, as the kernel's probe counted them.
    #[serde(flatten)]
    pub rates: Rates<Interval>,
    /// Mean sleep from the timer's start to the next call of the poll function, ns.
    pub slept_ns: Interval,
    /// Thousand polled requests per second and busy CPU.
    pub kiops_per_core: Interval,
    /// The CPU time by which `kiops_per_core` divides.
    pub cores: PerCore,
    /// Time from the hand-over to the driver to the completion (D2C): median, ns.
    pub d2c_p50_ns: Interval,
    /// 99th percentile of D2C, ns.
    pub d2c_p99_ns: Interval,
    /// Polled requests of all trials.
    pub polled: u64,
}

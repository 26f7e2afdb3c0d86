//! What was seen in an experiment: points of its axes, their trials, and the series of each job.

use crate::mode::WaitMode;
use crate::replay::Invalid;
use q2c_model::Rates;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An axis of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values as text, in the order of the file.
    pub values: Vec<String>,
}

/// A point of the axes with its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value of each axis.
    pub at: BTreeMap<String, String>,
    /// Trials that went well, by their number.
    pub trials: Vec<PointTrial>,
    /// Trials that ran and say nothing, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTrial>,
    /// Why trials failed, each reason once, or why the point cannot run here.
    pub failures: Vec<String>,
    /// The CPUs that its jobs want for themselves, phase by phase; empty where no job runs.
    pub cpus: Vec<CpuUse>,
    /// Whether a model made the figures.
    pub predicted: bool,
}

/// A trial that says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedTrial {
    /// Its number, as that of [`PointTrial::trial`].
    pub trial: u32,
    /// Why it says nothing.
    pub why: WhyNot,
}

/// Why a trial says nothing of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyNot {
    /// In words: it failed, or it lacks the figure.
    Told(String),
    /// It was a replay that cannot be compared with others.
    Invalid(Vec<Invalid>),
}

/// CPUs that jobs want each for themselves, and those that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// CPUs that the jobs want.
    pub needed: u32,
    /// CPUs that there are.
    pub present: u32,
}

/// One trial of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointTrial {
    /// Number of the trial, from 0. Trials of the same number ran in the same round.
    pub trial: u32,
    /// Figures of the whole trial, of studies without phases; times in ns, shares 0..1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// The phases, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTrial>,
}

/// A phase of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTrial {
    /// Its begin, seconds since the jobs began.
    pub begin_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Busy CPUs of the whole machine, idle baseline included; `None` where they cannot be read.
    pub busy_cpus: Option<f64>,
    /// Interrupts of the target's device; `None` where they cannot be read.
    pub interrupts: Option<u64>,
    /// The jobs that did I/O in this phase.
    pub jobs: Vec<JobSeries>,
}

/// A job in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSeries {
    /// Its name.
    pub job: String,
    /// Number of its threads.
    pub lanes: u32,
    /// The mode in which its threads really waited; `None` where nothing proves one.
    pub was: Option<WaitMode>,
    /// Least time between changes of its rule's sleep, seconds; `None` without time windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_period_s: Option<f64>,
    /// CPUs that were busy for this job; `None` where the machine's counters cannot be read.
    pub busy_cpus: Option<f64>,
    /// Figures that are of the whole phase only, by name, as those of [`PointTrial::figures`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Why sleeps left to the kernel were not seen; `None` where seen, or none were left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleeps_unseen: Option<String>,
    /// Its intervals, each counted from nothing, from the phase's begin to its end.
    pub ticks: Vec<Tick>,
}

/// An interval of a job. All its figures are of the I/Os that were reaped in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Its end, seconds since the phase's begin.
    pub end_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Number of I/Os. An I/O that lasted over several intervals counts in parts.
    pub ios: f64,
    /// I/Os that a sleep rule handled.
    pub handled: f64,
    /// Speed, cost and sleeps; miss rate and effective sleep are 0 where no rule handled an I/O.
    #[serde(flatten)]
    pub rates: Rates<f64>,
    /// Mean U2C, ns.
    pub mean_ns: f64,
    /// Median of U2C, ns.
    pub p50_ns: f64,
    /// 99th percentile of U2C, ns.
    pub p99_ns: f64,
}

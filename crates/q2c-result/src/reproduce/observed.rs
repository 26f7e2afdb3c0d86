//! Observations of an experiment: points of its axes, their trials, and the series of each job.

use crate::mode::WaitMode;
use crate::replay::Flaw;
use q2c_model::Rates;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An axis of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// The values as text, in the order of the file.
    pub values: Vec<String>,
}

/// A point of the axes with its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value of each axis.
    pub at: BTreeMap<String, String>,
    /// Successful trials, by their number.
    pub trials: Vec<PointTrial>,
    /// Trials that ran but have no usable figures, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTrial>,
    /// Why trials failed (each reason once), or why the point cannot run here.
    pub failures: Vec<String>,
    /// The CPUs that the jobs need for themselves, phase by phase; empty if no job runs.
    pub cpus: Vec<CpuUse>,
    /// Whether a model made the figures.
    pub predicted: bool,
}

/// A trial without usable figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedTrial {
    /// Number of the trial, as in [`PointTrial::trial`].
    pub trial: u32,
    /// Why the trial is not usable.
    pub why: TrialFailure,
}

/// Why a trial has no usable figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialFailure {
    /// The reason in words: the trial failed, or it lacks the figure.
    Told(String),
    /// The trial was a replay that cannot be compared with others.
    Invalid(Vec<Flaw>),
}

/// The number of CPUs that jobs need for themselves, and the number of CPUs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// CPUs that the jobs need, one each.
    pub needed: u32,
    /// CPUs that the machine has.
    pub present: u32,
    /// Threads that the scheduler places; `None` if each thread is pinned to a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<u32>,
}

/// One trial of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointTrial {
    /// Number of the trial, from 0. Trials of the same number ran in the same round.
    pub trial: u32,
    /// Figures of the whole trial, for studies without phases; times in ns, shares 0..1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// The phases, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTrial>,
}

/// A phase of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTrial {
    /// Start of the phase, seconds since the jobs started.
    pub begin_s: f64,
    /// Length of the phase, seconds.
    pub seconds: f64,
    /// Busy CPUs of the whole machine, including the idle baseline; `None` if unreadable.
    pub busy_cpus: Option<f64>,
    /// Interrupts of the target's device; `None` if unreadable.
    pub interrupts: Option<u64>,
    /// The jobs that did I/O in this phase.
    pub jobs: Vec<JobSeries>,
}

/// A job in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSeries {
    /// Name of the job.
    pub job: String,
    /// Number of the job's threads.
    pub lanes: u32,
    /// The mode in which the threads really waited; `None` if nothing proves one.
    pub was: Option<WaitMode>,
    /// Shortest time between changes of the rule's sleep, seconds; `None` if the rule has no
    /// windows of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_period_s: Option<f64>,
    /// CPUs that were busy for this job; `None` if the machine's counters are unreadable.
    pub busy_cpus: Option<f64>,
    /// Figures of the whole phase only, by name, in the units of [`PointTrial::figures`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Why the kernel's sleeps were not observed; `None` if they were, or if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleeps_unseen: Option<String>,
    /// The intervals from the phase's start to its end; their counts are not cumulative.
    pub ticks: Vec<Tick>,
}

/// An interval of a job. All figures are of the I/Os that were reaped in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// End of the interval, seconds since the phase's start.
    pub end_s: f64,
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// Number of I/Os. An I/O that lasts over several intervals counts as a fraction in each.
    pub ios: f64,
    /// I/Os that a sleep rule handled.
    pub handled: f64,
    /// Speed, cost and sleeps; miss rate and effective sleep are 0 if no rule handled an I/O.
    #[serde(flatten)]
    pub rates: Rates<f64>,
    /// Mean U2C, ns.
    pub mean_ns: f64,
    /// Median of U2C, ns.
    pub p50_ns: f64,
    /// 99th percentile of U2C, ns.
    pub p99_ns: f64,
}

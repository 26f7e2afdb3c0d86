//! The result of `q2c reproduce`: schema `q2c.reproduce/2`. A published experiment, what this
//! machine gave, and each published claim judged.

mod judged;
mod observed;
mod summary;

pub use judged::*;
pub use observed::*;
pub use summary::*;

use crate::{Machine, Target, Warning};
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.reproduce/2";

/// `result.json` of a reproduced experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// False when the run was stopped early.
    pub complete: bool,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
    /// Name of the experiment.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// The experiment that this one adapts, and why; `None` for one that is literal.
    pub variant_of: Option<VariantOf>,
    /// How the published figures were measured.
    pub setting: String,
    /// The factor by which all times of the experiment were multiplied; 1 where none was.
    pub scale: f64,
    /// Trials of each point that were asked for.
    pub trials: u32,
    /// Facts of the machine.
    pub machine: Machine,
    /// Facts of the target; `None` where the experiment uses none of the user's.
    pub target: Option<Target>,
    /// The study that made the figures.
    pub study: StudyKind,
    /// The devices that were made for the run.
    pub devices: Vec<MadeDevice>,
    /// The jobs as they were run, in the order of the file.
    pub jobs: Vec<JobAsRun>,
    /// The phases, in the order in which they ran.
    pub phases: Vec<PhaseAsRun>,
    /// The windows of a phase that claims name.
    pub windows: Vec<Window>,
    /// The axes that were swept.
    pub axes: Vec<Axis>,
    /// What was seen, point by point.
    pub points: Vec<Point>,
    /// The claims, judged.
    pub claims: Vec<JudgedClaim>,
    /// The charts that the experiment asks for.
    pub charts: Vec<ChartAsked>,
    /// Conditions under which the figures mislead.
    pub warnings: Vec<Warning>,
}

/// The experiment that another one adapts to other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantOf {
    /// Name of the literal experiment.
    pub name: String,
    /// What is different, and why.
    pub reason: String,
}

/// The part of q2c that makes the figures of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudyKind {
    /// Jobs that do I/O, in phases of time.
    Jobs,
    /// The same with the block layer captured.
    Stages,
    /// The simulator of placements.
    Place,
    /// The result of `q2c compare`, which is read and not made.
    Compare,
    /// Sleep rules over the library of patterns, in the simulator.
    Rules,
}

/// A device that was made for the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeDevice {
    /// Its name in the experiment.
    pub name: String,
    /// As the experiment asks for it.
    pub asked: String,
    /// The block device or the simulated device that it became, or why it could not be made.
    pub made: Result<String, String>,
}

/// A job as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobAsRun {
    /// Its name.
    pub name: String,
    /// What it did, by phase; `None` where it rested. Values of axes are not filled in.
    pub phases: Vec<Option<String>>,
}

/// A phase as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseAsRun {
    /// Its name.
    pub name: String,
    /// Its label in tables.
    pub label: String,
    /// Its length after scaling, seconds.
    pub seconds: f64,
}

/// A part of every phase, counted from the phase's begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its name in claims.
    pub name: String,
    /// Its begin after scaling, seconds.
    pub from_s: f64,
    /// Its end after scaling, seconds; `None` for the phase's end.
    pub to_s: Option<f64>,
}

/// A chart that an experiment asks for, with the published points beside ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartAsked {
    /// Heading.
    pub title: String,
    /// The figure on the vertical axis, as in claims.
    pub figure: String,
    /// The horizontal axis: `time`, `phase` or an axis of the sweep.
    pub over: String,
    /// The axis whose values are curves of their own; `None` for one curve for each job.
    pub by: Option<String>,
    /// Published points.
    pub published: Vec<PublishedCurve>,
    /// What was seen here, a curve for each job or for each value of `by`.
    pub ours: Vec<OurCurve>,
}

/// A curve of what was seen here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OurCurve {
    /// Its name.
    pub name: String,
    /// Horizontal value as text, or seconds, and the figure over the trials.
    pub points: Vec<(String, Interval)>,
}

/// A published curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCurve {
    /// Its name.
    pub name: String,
    /// Its points: a value of the horizontal axis as text, and the figure in its own unit.
    pub points: Vec<(String, f64)>,
}

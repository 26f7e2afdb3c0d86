//! The result of `q2c reproduce`: schema `q2c.reproduce/2`. It holds a published experiment, the
//! figures of this machine, and a verdict on each published claim.

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
    /// The question of the experiment.
    pub title: String,
    /// The experiment that this one adapts, and why; `None` if this one adapts none.
    pub variant_of: Option<VariantOf>,
    /// How the published figures were measured.
    pub setting: String,
    /// Where the settings of the experiment come from; empty if its file does not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<SettingOrigin>,
    /// The factor by which all times of the experiment were multiplied; 1 leaves them.
    pub scale: f64,
    /// Trials of each point that were asked for.
    pub trials: u32,
    /// Facts of the machine.
    pub machine: Machine,
    /// Facts of the target; `None` if the experiment needs no target of the user.
    pub target: Option<Target>,
    /// The kind of study that made the figures.
    pub study: StudyKind,
    /// The devices that were made for the run.
    pub devices: Vec<CreatedDevice>,
    /// The jobs as they were run, in the order of the file.
    pub jobs: Vec<JobAsRun>,
    /// The phases, in the order in which they ran.
    pub phases: Vec<PhaseAsRun>,
    /// The windows of a phase that claims name.
    pub windows: Vec<Window>,
    /// The axes that were swept.
    pub axes: Vec<Axis>,
    /// The figures of each point.
    pub points: Vec<Point>,
    /// The claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// The charts that the experiment asks for.
    pub charts: Vec<Chart>,
    /// Conditions under which the figures mislead.
    pub warnings: Vec<Warning>,
}

/// The experiment that another one adapts to other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantOf {
    /// Name of the literal experiment.
    pub name: String,
    /// What differs, and why.
    pub reason: String,
}

/// The origin of a setting, or of all settings of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingOrigin {
    /// Path of the setting in the file, such as `job.background.depth`.
    pub setting: String,
    /// Why it was chosen; `None` if the source of the claims has it.
    pub chosen: Option<String>,
}

/// The part of q2c that makes the figures of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudyKind {
    /// Jobs that do I/O, in phases of time.
    Jobs,
    /// The same jobs, with the block layer captured.
    Stages,
    /// The simulator of placements.
    Place,
    /// A result of `q2c compare`, which is read from a file.
    Compare,
    /// Sleep rules over the library of patterns, in the simulator.
    Rules,
    /// A file system on a made device, and the memory that the device takes.
    Mount,
    /// The built-in mix of work on the files of a made device.
    Mix,
}

/// A device that was made for the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedDevice {
    /// Name of the device in the experiment.
    pub name: String,
    /// The device as the experiment describes it.
    pub asked: String,
    /// Name of the block device or simulated device; or the reason why it could not be made.
    pub made: Result<String, String>,
}

/// A job as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobAsRun {
    /// Name of the job.
    pub name: String,
    /// What the job did in each phase; `None` if it rested. Values of axes are not filled in.
    pub phases: Vec<Option<String>>,
}

/// A phase as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseAsRun {
    /// Name of the phase.
    pub name: String,
    /// Label of the phase in tables.
    pub label: String,
    /// Length of the phase after scaling, seconds.
    pub seconds: f64,
}

/// A part of every phase, counted from the phase's start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Name of the window in claims.
    pub name: String,
    /// Start after scaling, seconds.
    pub from_s: f64,
    /// End after scaling, seconds; `None` for the phase's end.
    pub to_s: Option<f64>,
}

/// A chart that an experiment asks for, with published points and our own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// The figure on the vertical axis, as claims write it.
    pub figure: String,
    /// The horizontal axis: `time`, `phase` or an axis of the sweep.
    pub over: String,
    /// The axis with a curve for each value; `None` for a curve for each job.
    pub by: Option<String>,
    /// Published points.
    pub published: Vec<PublishedCurve>,
    /// Our curves, one for each job or for each value of `by`.
    pub ours: Vec<RunCurve>,
}

/// A curve of figures that were measured or simulated here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCurve {
    /// Name of the curve.
    pub name: String,
    /// Pairs of a horizontal value (a text, or seconds) and the figure over the trials.
    pub points: Vec<(String, Interval)>,
}

/// A published curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCurve {
    /// Name of the curve.
    pub name: String,
    /// Pairs of a horizontal value as text and the figure in its own unit.
    pub points: Vec<(String, f64)>,
}

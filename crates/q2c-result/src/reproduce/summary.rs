//! The results of `q2c reproduce --list --json` and `q2c reproduce --all --json`.

use super::{Basis, NeedKind, ReproduceVerdict};
use crate::Machine;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// Schema of the list.
pub const LIST_SCHEMA: &str = "q2c.reproduce-list/2";
/// Schema of the verdicts of all experiments.
pub const ALL_SCHEMA: &str = "q2c.reproduce-all/1";

/// All built-in experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListResult {
    /// [`LIST_SCHEMA`].
    pub schema: String,
    /// The factor by which all times are multiplied in the expected lengths.
    pub scale: f64,
    /// Trials of each point in the expected lengths; `None` takes the numbers of the files.
    pub trials: Option<u32>,
    /// The target that was examined; `None` if the user named none.
    pub target: Option<String>,
    /// The experiments, by name.
    pub experiments: Vec<ListedExperiment>,
    /// Sum of the known expected lengths, seconds.
    pub seconds: f64,
}

/// An experiment in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedExperiment {
    /// Name of the experiment.
    pub name: String,
    /// The question of the experiment.
    pub title: String,
    /// The experiment that it adapts; `None` if it adapts none.
    pub variant_of: Option<String>,
    /// How the published figures were measured.
    pub source: String,
    /// Number of claims.
    pub claims: u32,
    /// Number of claims that this machine can surely judge.
    pub judgeable: u32,
    /// Number of claims that need a fact of the target; 0 if the user named a target.
    pub depend_on_target: u32,
    /// What the claims need, and what the machine has.
    pub needs: Vec<ListedNeed>,
    /// True if the experiment needs a target that the user names.
    pub takes_target: bool,
    /// Expected length, seconds; `None` if unknown.
    pub seconds: Option<f64>,
}

/// Something that a claim of a listed experiment needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedNeed {
    /// What is needed.
    pub what: NeedKind,
    /// The needed amount, or which one is needed.
    pub needed: String,
    /// What the machine has, in words.
    pub present: String,
    /// True if `present` is enough; `None` if that depends on a target, and none was named.
    pub met: Option<bool>,
}

/// The verdicts of all experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllResult {
    /// [`ALL_SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// False when the run was stopped early.
    pub complete: bool,
    /// The factor by which all times were multiplied.
    pub scale: f64,
    /// Path or name of the target; `None` if there is none.
    pub target: Option<String>,
    /// Facts of the machine.
    pub machine: Machine,
    /// The experiments.
    pub experiments: Vec<ExperimentLine>,
    /// Unfinished experiments. One of them may be in `experiments`, with the trials that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// An experiment with its verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentLine {
    /// Name of the experiment.
    pub name: String,
    /// The experiment that it adapts; `None` if it adapts none.
    pub variant_of: Option<String>,
    /// The claims with their verdicts.
    pub claims: Vec<ClaimLine>,
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimLine {
    /// The claim in words.
    pub says: String,
    /// The published figures.
    pub published: Option<String>,
    /// The figures of this machine, one for each expression that has one.
    pub measured: Vec<MeasuredFigure>,
    /// The verdict.
    pub verdict: ReproduceVerdict,
    /// The origin of the figures.
    pub basis: Basis,
    /// The reason for the verdict, in words.
    pub why: String,
}

/// A figure of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFigure {
    /// The expression that the figure belongs to.
    pub expects: String,
    /// Left side over the trials. Times are in ns, shares 0..1.
    #[serde(flatten)]
    pub over_trials: Interval,
    /// The unit in which reports print it.
    pub unit: String,
    /// Number of trials that were asked for.
    pub trials_asked: u32,
    /// Right side over the trials; `None` if it has no figures.
    pub right: Option<Interval>,
}

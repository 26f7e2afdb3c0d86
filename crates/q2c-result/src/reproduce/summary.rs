//! The results of `q2c reproduce --list --json` and `q2c reproduce --all --json`.

use super::{Basis, NeedKind, ReproduceVerdict};
use crate::Machine;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// Schema of the list.
pub const LIST_SCHEMA: &str = "q2c.reproduce-list/2";
/// Schema of the verdicts of all experiments.
pub const ALL_SCHEMA: &str = "q2c.reproduce-all/1";

/// All experiments that are built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListResult {
    /// [`LIST_SCHEMA`].
    pub schema: String,
    /// The factor by which all times are multiplied in the lengths.
    pub scale: f64,
    /// Trials of each point in the lengths; `None` for those of the files.
    pub trials: Option<u32>,
    /// The target that was looked at; `None` where none was named.
    pub target: Option<String>,
    /// The experiments, by name.
    pub experiments: Vec<ListedExperiment>,
    /// Sum of the lengths that are known, seconds.
    pub seconds: f64,
}

/// An experiment in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedExperiment {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// The experiment that it adapts.
    pub variant_of: Option<String>,
    /// How the published figures were measured.
    pub source: String,
    /// Number of its claims.
    pub claims: u32,
    /// Claims that can be judged here for sure.
    pub judgeable: u32,
    /// Claims of which the target decides whether they can be judged; 0 where one was named.
    pub depend_on_target: u32,
    /// What its claims need, and what there is.
    pub needs: Vec<ListedNeed>,
    /// Whether it needs a target that the user names.
    pub takes_target: bool,
    /// Expected length, seconds; `None` where it is not known.
    pub seconds: Option<f64>,
}

/// Something that a claim of a listed experiment needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedNeed {
    /// What is needed.
    pub what: NeedKind,
    /// How much of it, or which.
    pub needed: String,
    /// What there is, in words.
    pub present: String,
    /// Whether that is enough; `None` where the target decides it and none was named.
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
    /// Path or name of the target; `None` without one.
    pub target: Option<String>,
    /// Facts of the machine.
    pub machine: Machine,
    /// The experiments.
    pub experiments: Vec<ExperimentLine>,
    /// Experiments not finished; one may be above, with the trials that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// An experiment with its verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentLine {
    /// Its name.
    pub name: String,
    /// The experiment that it adapts.
    pub variant_of: Option<String>,
    /// Its claims.
    pub claims: Vec<ClaimLine>,
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimLine {
    /// The claim in words.
    pub says: String,
    /// The published figures.
    pub published: Option<String>,
    /// The figures that were seen here, one for each expression that has one.
    pub measured: Vec<MeasuredFigure>,
    /// The verdict.
    pub verdict: ReproduceVerdict,
    /// Where the figures are from.
    pub basis: Basis,
    /// Why, in words.
    pub why: String,
}

/// A figure of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFigure {
    /// The expression that it belongs to.
    pub expects: String,
    /// Its left side over the trials. Times are in ns, shares in 0..1.
    #[serde(flatten)]
    pub over_trials: Interval,
    /// The unit that it is told in.
    pub unit: String,
    /// Trials that were asked for.
    pub trials_asked: u32,
    /// Its right side over the trials, where it is made of figures, too.
    pub right: Option<Interval>,
}

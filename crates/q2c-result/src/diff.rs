//! The result of `q2c diff`: two results of one kind, figure by figure.

use crate::Warning;
use crate::figures::{Better, FigureUnit};
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.diff/3";

/// Two results of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The kind of both results: their schema name.
    pub of: String,
    /// The base: the result that `b` is compared with.
    pub a: DiffSide,
    /// The result that is compared.
    pub b: DiffSide,
    /// The figures that both have, in the order of `a`.
    pub figures: Vec<ComparedFigure>,
    /// Things of which only one of the results has figures.
    pub unpaired: Vec<UnpairedFigure>,
    /// Settings and facts that differ, in the order of their names.
    pub changed: Vec<ChangedFact>,
    /// Conditions that differ and may explain the differences of figures.
    pub warnings: Vec<Warning>,
    /// The limits that were asked for, with the figures that break them.
    pub limits: Vec<JudgedLimit>,
}

/// One of the two compared results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSide {
    /// Path of the file.
    pub path: String,
    /// The version of q2c that made the result.
    pub version: String,
    /// Start of the run, Unix time in seconds; `None` for results without a run.
    pub started_unix_s: Option<u64>,
    /// True if the run had all of its trials.
    pub complete: bool,
    /// True if the machine was simulated, in simulated time.
    pub simulated: bool,
    /// The result's own warnings.
    pub warnings: Vec<Warning>,
}

/// What the trials say about a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffVerdict {
    /// The second is better: no trials overlap, and the medians differ by more than 1 %.
    Better,
    /// The second is worse, in the same sense.
    Worse,
    /// The second differs in the same sense, but the figure has no better direction.
    Differs,
    /// Trials of the two overlap, or the medians differ by at most 1 %.
    Alike,
    /// One of the results has a single value, without an interval.
    Single,
    /// There is no ratio: a value is missing, or the first is 0.
    Unknown,
}

/// A figure of both results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigure {
    /// The thing that has the figure: `4 KiB poll`, `Q2C`.
    pub of: String,
    /// Name of the figure: `p99`, `iops`.
    pub figure: String,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// The direction in which the figure is better.
    pub better: Better,
    /// The first result's median and range.
    pub a: Interval,
    /// The second result's median and range.
    pub b: Interval,
    /// The second median over the first; `None` if there is no ratio.
    pub ratio: Option<f64>,
    /// The smallest and the largest ratio of a trial of the second to one of the first; `None` if
    /// either has a single trial.
    pub interval: Option<(f64, f64)>,
    /// What the trials say about the change.
    pub says: DiffVerdict,
}

/// A thing of which only one of the results has figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpairedFigure {
    /// Name of the thing.
    pub of: String,
    /// True if the first result has it, false if the second has it.
    pub in_a: bool,
}

/// A setting or fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFact {
    /// Path of the fact in the result's JSON: `machine.kernel`.
    pub name: String,
    /// The first result's value; `None` if it has none.
    pub a: Option<String>,
    /// The second result's value; `None` if it has none.
    pub b: Option<String>,
}

/// A limit and the figures that break it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedLimit {
    /// The limit as asked: `p99>+5%`, `p99>200us`.
    pub asked: String,
    /// Number of figures that the limit covers.
    pub figures: usize,
    /// The figures that break the limit.
    pub broken: Vec<BrokenFigure>,
}

/// A figure that breaks a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenFigure {
    /// The thing that has the figure: `4 KiB poll`, `Q2C`.
    pub of: String,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// The judged median and range.
    pub value: Interval,
    /// The change that broke the limit; `None` for a limit on the value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FigureChange>,
}

/// The change of a figure from another result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureChange {
    /// The other result's median and range.
    pub baseline: Interval,
    /// This median over the other result's.
    pub ratio: f64,
    /// Interval of the ratio, as [`ComparedFigure::interval`].
    pub interval: Option<(f64, f64)>,
}

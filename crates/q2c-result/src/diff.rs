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
    /// The kind of both: the schema of their results.
    pub of: String,
    /// The result that is compared with.
    pub a: DiffSide,
    /// The result that is compared.
    pub b: DiffSide,
    /// The figures that both have, in the order of `a`.
    pub figures: Vec<ComparedFigure>,
    /// Figures that only one of them has.
    pub unpaired: Vec<Unpaired>,
    /// Settings and facts that differ, in the order of their names.
    pub changed: Vec<ChangedFact>,
    /// Conditions that differ, and may be the reason why figures do.
    pub warnings: Vec<Warning>,
    /// The limits that were asked for, with the figures that break them.
    pub limits: Vec<JudgedLimit>,
}

/// One of the two results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSide {
    /// Where it was read.
    pub path: String,
    /// The version of q2c that made it.
    pub version: String,
    /// Start of its run, Unix time in seconds; `None` for results without a run.
    pub started_unix_s: Option<u64>,
    /// Whether its run had all of its trials.
    pub complete: bool,
    /// Whether its machine was simulated, in simulated time.
    pub simulated: bool,
    /// Its warnings.
    pub warnings: Vec<Warning>,
}

/// What the trials say about a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffSays {
    /// The second is better: no trials overlap, and the medians differ by more than 1 %.
    Better,
    /// The second is worse, in the same sense.
    Worse,
    /// The second differs in the same sense, and which is better depends.
    Differs,
    /// The intervals leave no change open, or the medians differ by at most 1 %.
    Alike,
    /// A side has a single value, which has no interval.
    Single,
    /// There is no ratio: a side has no value, or the first is 0.
    Unknown,
}

/// A figure of both results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigure {
    /// What it is of: `4 KiB poll`, `Q2C`.
    pub of: String,
    /// Its name: `p99`, `iops`.
    pub figure: String,
    /// Its unit.
    pub unit: FigureUnit,
    /// In which direction it is better.
    pub better: Better,
    /// The first result's trials.
    pub a: Interval,
    /// The second result's trials.
    pub b: Interval,
    /// The second median over the first; `None` where there is no ratio.
    pub ratio: Option<f64>,
    /// The least and largest ratio of a trial of the second to one of the first; `None` with a
    /// single trial.
    pub interval: Option<(f64, f64)>,
    /// What that says.
    pub says: DiffSays,
}

/// A figure that only one of the results has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpaired {
    /// What it is of.
    pub of: String,
    /// Whether the first has it, else the second.
    pub in_a: bool,
}

/// A setting or fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFact {
    /// Its place in the result: `machine.kernel`.
    pub name: String,
    /// The first result's; `None` where it has none.
    pub a: Option<String>,
    /// The second result's.
    pub b: Option<String>,
}

/// A limit and the figures that break it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedLimit {
    /// The limit as asked: `p99>+5%`, `p99>200us`.
    pub asked: String,
    /// How many figures of that name there are.
    pub figures: usize,
    /// The figures that break it.
    pub broken: Vec<BrokenFigure>,
}

/// A figure that breaks a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenFigure {
    /// What it is of: `4 KiB poll`, `Q2C`.
    pub of: String,
    /// Its unit.
    pub unit: FigureUnit,
    /// Its trials.
    pub value: Interval,
    /// What it was compared with; `None` for a limit on the value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FigureChange>,
}

/// How far a figure is from another result's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureChange {
    /// The other result's trials.
    pub baseline: Interval,
    /// The median over the other result's.
    pub ratio: f64,
    /// As [`ComparedFigure::interval`].
    pub interval: Option<(f64, f64)>,
}

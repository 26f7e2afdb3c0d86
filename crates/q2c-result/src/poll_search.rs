//! The result of `q2c poll search`: families of rules were searched on some patterns, and the best
//! were compared with known rules on patterns of sources that had been held out.
//!
//! Patterns, sources and losses are those of [`poll_study`](crate::poll_study).

use crate::Warning;
use crate::poll_study::{ScoredPolicy, StudiedPattern};
use q2c_model::{Nanos, SimulatedFigures};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.poll-search/1";

/// `q2c poll search --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PollSearchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The costs that were simulated with, in words.
    pub cost: String,
    /// `closed` (recorded think time) or `open` (recorded arrivals).
    pub arrival: String,
    /// Simulated time at the start that does not count.
    pub warm_up_ns: Nanos,
    /// Seed of the wake-up delays, of the points that were tried, and of the resampled sets.
    pub seed: u64,
    /// The figure that is compared: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits besides the floor on IOPS, in words.
    pub limits: Vec<String>,
    /// The patterns that were searched on.
    pub searched: Vec<StudiedPattern>,
    /// The patterns of the sources that were held out, used only once, after the search.
    pub held_out: Vec<StudiedPattern>,
    /// Rounds of the search. The first tries points anywhere, later ones try points near the best.
    pub rounds: u32,
    /// Configurations that were simulated on the searched patterns, including the standard grid.
    pub configurations: usize,
    /// The families, sorted by `left_out_loss`, least first. It leaves out searched sources, while
    /// the sources held out were never searched.
    pub families: Vec<SearchedFamily>,
    /// The rules that were run on the patterns held out, in their roles.
    pub contenders: Vec<Contender>,
    /// Rules that beat Linux's in both misses and CPU, by pattern: searched, then held out.
    pub both: Vec<BeatenLinux>,
    /// Wall time of the simulations, seconds.
    pub seconds: f64,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// A family of rules that was searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchedFamily {
    /// The policy's text, with letters in place of its numbers.
    pub family: String,
    /// Number of configurations of the family that were tried.
    pub configurations: usize,
    /// The configuration with the least mean loss on the searched patterns.
    pub best: ScoredPolicy,
    /// Mean loss on each searched source when the others chose; `None` with a single source.
    pub left_out_loss: Option<f64>,
}

/// A rule that was run on the patterns held out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The policy in full.
    pub policy: String,
    /// Why the rule was run there.
    pub role: ContenderRole,
    /// Losses on the searched patterns; `None` for a reference that was not simulated there.
    pub searched: Option<ScoredPolicy>,
    /// Losses on the patterns held out.
    pub held_out: ScoredPolicy,
    /// Comparisons with each reference on the patterns held out; empty unless this is a finalist.
    pub against: Vec<ReferenceComparison>,
}

/// Why a rule was run on the patterns held out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContenderRole {
    /// The best rule of one of the best families, which may win.
    Finalist,
    /// A known rule, which a finalist must beat.
    Reference,
    /// The best rule of another family, for comparison only.
    #[default]
    Other,
}

/// A finalist compared with a reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReferenceComparison {
    /// The reference's policy.
    pub reference: String,
    /// Patterns on which the finalist loses less.
    pub better: usize,
    /// Number of patterns on which some configuration keeps the limits.
    pub of: usize,
    /// The reference's loss minus the finalist's, mean over patterns; above 0 the finalist wins.
    pub gain: f64,
    /// 2.5th percentile of the gain over resampled sets of the sources held out.
    pub low: f64,
    /// 97.5th percentile of the gain over the same sets.
    pub high: f64,
}

impl ReferenceComparison {
    /// True if the finalist loses less in nearly all resampled sets.
    pub fn won(&self) -> bool {
        self.low > 0.0
    }
}

impl Contender {
    /// True for a finalist that beats every reference.
    pub fn won(&self) -> bool {
        let finalist = self.role == ContenderRole::Finalist;
        finalist && !self.against.is_empty() && self.against.iter().all(ReferenceComparison::won)
    }
}

/// Rules that beat Linux's in misses and CPU at once, on one pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeatenLinux {
    /// Name of the pattern.
    pub pattern: String,
    /// True if the pattern's source was held out.
    pub held_out: bool,
    /// Number of ranked configurations that were simulated on the pattern.
    pub tried: usize,
    /// Figures of Linux's rule.
    pub linux: SimulatedFigures,
    /// Number of the `tried` ones that keep the limits, miss less and use less CPU than Linux's
    /// rule.
    pub configurations: usize,
    /// The one among these with the least CPU; `None` if there is none.
    pub least: Option<SimulatedPolicy>,
}

/// A policy with its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedPolicy {
    /// The policy in full.
    pub policy: String,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

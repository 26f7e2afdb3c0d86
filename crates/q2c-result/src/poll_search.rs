//! The result of `q2c poll search`: families of rules that were searched on some patterns, and
//! their best set against known rules on patterns of sources that had been held out.
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
    /// Simulated time that is dropped at the start.
    pub warm_up_ns: Nanos,
    /// Seed of the wake-up delays, of the points that were tried, and of the resampled sets.
    pub seed: u64,
    /// The figure that is compared: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits beside the floor on IOPS, in words.
    pub limits: Vec<String>,
    /// The patterns that were searched on.
    pub searched: Vec<StudiedPattern>,
    /// The patterns of the sources that were held out, opened once.
    pub held_out: Vec<StudiedPattern>,
    /// Rounds of the search: points anywhere, then points near the best.
    pub rounds: u32,
    /// Configurations that were simulated on the searched patterns, the standard grid among them.
    pub configurations: usize,
    /// The families, the least loss on sources left out of the searched ones first.
    pub families: Vec<SearchedFamily>,
    /// What was opened on the patterns held out: finalists, references, the other families' best.
    pub contenders: Vec<Contender>,
    /// Rules with fewer misses and less CPU than Linux's, by pattern: searched, then held out.
    pub both: Vec<Both>,
    /// Wall time of the simulations, seconds.
    pub seconds: f64,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// A family of rules that was searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchedFamily {
    /// The policy with letters in place of numbers.
    pub family: String,
    /// Configurations of it that were tried.
    pub configurations: usize,
    /// The configuration with the least mean loss on the searched patterns.
    pub best: ScoredPolicy,
    /// Mean loss with each searched source left out in turn; `None` with a single source.
    pub left_out_loss: Option<f64>,
}

/// A rule that was opened on the patterns held out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The policy in full.
    pub policy: String,
    /// Why it was opened.
    pub role: ContenderRole,
    /// Its losses on the searched patterns; `None` for a reference that was not simulated there.
    pub searched: Option<ScoredPolicy>,
    /// Its losses on the patterns held out.
    pub held_out: ScoredPolicy,
    /// A finalist against each reference, on the patterns held out.
    pub against: Vec<Against>,
}

/// Why a rule was opened on the patterns held out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContenderRole {
    /// The best of one of the best families: it may win.
    Finalist,
    /// A known rule, which a finalist has to beat.
    Reference,
    /// The best of another family, for comparison alone.
    #[default]
    Other,
}

/// A finalist against a reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The reference's policy.
    pub reference: String,
    /// Patterns on which the finalist loses less.
    pub better: usize,
    /// Patterns that count.
    pub of: usize,
    /// The reference's loss less the finalist's, mean over the patterns.
    pub gain: f64,
    /// 2.5th and 97.5th percentile of the gain over resampled sets of the sources held out.
    pub low: f64,
    /// See [`Against::low`].
    pub high: f64,
}

impl Against {
    /// Whether the finalist loses less in nearly all resampled sets.
    pub fn won(&self) -> bool {
        self.low > 0.0
    }
}

impl Contender {
    /// Whether a finalist beats every reference.
    pub fn won(&self) -> bool {
        let finalist = self.role == ContenderRole::Finalist;
        finalist && !self.against.is_empty() && self.against.iter().all(Against::won)
    }
}

/// Misses and CPU together, on one pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Both {
    /// Name of the pattern.
    pub pattern: String,
    /// Whether its source was held out.
    pub held_out: bool,
    /// Configurations that were simulated on it, and are ranked.
    pub tried: usize,
    /// Figures of Linux's rule.
    pub linux: SimulatedFigures,
    /// Configurations that keep the limits, miss less and take less CPU than Linux's rule.
    pub configurations: usize,
    /// The one of them with the least CPU.
    pub least: Option<Figures>,
}

/// A policy with its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The policy in full.
    pub policy: String,
    /// Its figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

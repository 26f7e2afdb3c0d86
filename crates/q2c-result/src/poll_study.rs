//! The result of `q2c poll study`: every rule on every pattern of a set, judged on patterns that
//! were left out of its choice.
//!
//! A **pattern** is a recording. Its **source** is the device or distribution that it came from. A
//! **loss** is the share by which the objective of a configuration stays below that of the
//! pattern's own best; a configuration that breaks a limit on a pattern has no objective there, and
//! counts as a loss of 1.

use crate::Warning;
use crate::reproduce::ReproduceVerdict;
use crate::sweep::{Speed, SweepInput};
use q2c_model::{Nanos, SimulatedFigures};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.poll-study/1";

/// `q2c poll study --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PollStudyResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The patterns, in the order in which they were read.
    pub patterns: Vec<StudiedPattern>,
    /// The costs that were simulated with, in words.
    pub cost: String,
    /// `closed` (recorded think time) or `open` (recorded arrivals).
    pub arrival: String,
    /// Simulated time that is dropped at the start.
    pub warm_up_ns: Nanos,
    /// Seed of the drawn wake-up delays.
    pub seed: u64,
    /// The figure that is compared: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits beside the floor on IOPS, in words.
    pub limits: Vec<String>,
    /// Every ranked configuration, in the order of the grid.
    pub configurations: Vec<ScoredPolicy>,
    /// Rules that are not ranked.
    pub not_ranked: Vec<NotRanked>,
    /// The choice among all ranked configurations; `None` when no pattern has a best one.
    pub all: Option<RuleScore>,
    /// Each rule, the least loss on sources left out first. A formula is a rule of its own.
    pub rules: Vec<RuleScore>,
    /// The published conclusion beside this result.
    pub published: Published,
    /// Speed of the simulation.
    pub speed: Speed,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// One pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudiedPattern {
    /// Name: that of the file, without its ending.
    pub name: String,
    /// The fact `pattern.source` of the trace; without it the pattern's name.
    pub source: String,
    /// The facts of the trace that describe the pattern, without their prefix `pattern.`.
    pub facts: BTreeMap<String, String>,
    /// Facts of the recording.
    #[serde(flatten)]
    pub input: SweepInput,
    /// Simulated time that counted.
    pub measured_ns: Nanos,
    /// Figures of classic polling.
    pub poll: SimulatedFigures,
    /// Figures of the oracle, which knows every latency.
    pub oracle: SimulatedFigures,
    /// The floor, IOPS.
    pub floor_iops: f64,
    /// Where the floor comes from, in words.
    pub floor: String,
    /// The best configuration within the limits; `None`: the pattern then counts for nothing.
    pub own_best: Option<OwnBest>,
}

/// The best configuration of one pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnBest {
    /// The policy in full.
    pub policy: String,
    /// Its figures.
    pub gives: SimulatedFigures,
    /// The oracle's objective over its own; below 1 it sleeps past completions, unlike the oracle.
    pub oracle_over: f64,
}

/// A configuration and its losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoredPolicy {
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Mean loss over the patterns that count.
    pub mean_loss: f64,
    /// Greatest loss.
    pub worst_loss: f64,
    /// Patterns on which it keeps the limits.
    pub kept: usize,
    /// Loss by pattern; `None` where a limit is broken, and on patterns that do not count.
    pub losses: Vec<Option<f64>>,
}

/// A rule with its parameters free: the best on all patterns, and its worth on left-out ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleScore {
    /// Name of the rule, or the formula; empty for the choice among all of them.
    pub rule: String,
    /// Number of its configurations.
    pub configurations: usize,
    /// The configuration with the least mean loss.
    pub on_average: ScoredPolicy,
    /// The configuration with the least greatest loss.
    pub worst_case: ScoredPolicy,
    /// Each pattern left out in turn.
    pub patterns_left_out: LeftOutLosses,
    /// Each source left out in turn, with all of its patterns; `None` with a single source.
    pub sources_left_out: Option<LeftOutLosses>,
}

/// Losses on left-out patterns, each by the best configuration on average over the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOutLosses {
    /// Mean loss over the patterns that were left out.
    pub mean_loss: f64,
    /// Greatest of these losses.
    pub worst_loss: f64,
    /// Patterns on which what was chosen without them keeps the limits.
    pub kept: usize,
    /// Each pattern that was left out.
    pub each: Vec<LeftOutPattern>,
}

/// One pattern that was left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOutPattern {
    /// Index of the pattern.
    pub pattern: usize,
    /// The policy that was chosen without it.
    pub policy: String,
    /// Its loss on the pattern; `None` where a limit is broken.
    pub loss: Option<f64>,
}

/// A rule that is not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotRanked {
    /// Name of the rule, or the formula.
    pub rule: String,
    /// The reason.
    pub why: WhyNotRanked,
}

/// Why a rule is not ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyNotRanked {
    /// Its sleep does not follow the device, so it cannot be carried from pattern to pattern.
    DoesNotFollow,
    /// It takes interrupts, and where the floor lets one through no sleep takes as little CPU.
    TakesInterrupts,
    /// It takes interrupts, whose cost a constant wake-up delay does not tell.
    FreeInterrupts,
}

/// The published conclusion (`min` with 70 to 90 % is best on average) beside this result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The best on average of `min` with 70 to 90 %; `None` when none was ranked.
    pub named: Option<ScoredPolicy>,
    /// The best on average of everything else; `None` when nothing else was ranked.
    pub others: Option<ScoredPolicy>,
    /// Sets of as many sources, drawn with repetition: patterns of one source are alike.
    pub resamples: u32,
    /// Share of these sets in which the best on average is one of `min` with 70 to 90 %.
    pub share: f64,
    /// It holds in at least 97.5 % of the resampled sets, and does not in at most 2.5 % of them.
    /// It cannot be judged where one of the two sides was not ranked, or fewer than three sources
    /// count.
    pub verdict: ReproduceVerdict,
}

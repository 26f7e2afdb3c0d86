//! The result of `q2c poll study`: every rule on every pattern of a set, judged on patterns that
//! were left out of its choice.
//!
//! A **pattern** is a recording. Its **source** is the device or distribution that it came from. A
//! **loss** is the share by which the objective of a configuration stays below that of the
//! pattern's own best, 0..1. A configuration that breaks a limit on a pattern has a loss of 1
//! there.

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
    /// Simulated time at the start that does not count.
    pub warm_up_ns: Nanos,
    /// Seed of the random wake-up delays.
    pub seed: u64,
    /// The figure that is compared: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits besides the floor on IOPS, in words.
    pub limits: Vec<String>,
    /// Every ranked configuration, in the order of the grid.
    pub configurations: Vec<ScoredPolicy>,
    /// Rules that are not ranked.
    pub not_ranked: Vec<NotRanked>,
    /// The choice among all ranked configurations; `None` if no pattern has a best configuration.
    pub all: Option<RuleScore>,
    /// Each rule, sorted by its loss on sources left out, least first. A formula counts as a rule.
    pub rules: Vec<RuleScore>,
    /// The published conclusion, judged by this result.
    pub published: PublishedScore,
    /// Speed of the simulation.
    pub speed: Speed,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// One pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudiedPattern {
    /// Name of the file, without its ending.
    pub name: String,
    /// The fact `pattern.source` of the trace; without such a fact, the pattern's name.
    pub source: String,
    /// Those facts of the trace that describe the pattern, without their prefix `pattern.`.
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
    /// The smallest IOPS that a rule must keep.
    pub floor_iops: f64,
    /// Where the floor comes from, in words.
    pub floor: String,
    /// The best configuration within the limits; `None` means that the pattern does not count.
    pub own_best: Option<OwnBest>,
}

/// The best configuration of one pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnBest {
    /// The policy in full.
    pub policy: String,
    /// The configuration's figures.
    pub gives: SimulatedFigures,
    /// The oracle's objective over this one's; below 1 if this rule sleeps past completions.
    pub oracle_over: f64,
}

/// A configuration and its losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoredPolicy {
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Mean loss over the patterns that count.
    pub mean_loss: f64,
    /// Largest loss on a pattern.
    pub worst_loss: f64,
    /// Number of patterns on which the configuration keeps the limits.
    pub kept: usize,
    /// Loss by pattern; `None` if a limit is broken, or if the pattern does not count.
    pub losses: Vec<Option<f64>>,
}

/// A rule with free parameters: its best on all patterns, and its loss on patterns left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleScore {
    /// Name of the rule, or the formula; empty for the choice among all rules.
    pub rule: String,
    /// Number of the rule's configurations.
    pub configurations: usize,
    /// The configuration with the least mean loss.
    pub on_average: ScoredPolicy,
    /// The configuration whose largest loss is the smallest.
    pub worst_case: ScoredPolicy,
    /// The losses if each pattern is left out in turn.
    pub patterns_left_out: LeftOutLosses,
    /// The losses if each source is left out with all its patterns; `None` with a single source.
    pub sources_left_out: Option<LeftOutLosses>,
}

/// Losses on left-out patterns, each of the configuration that is best on average on the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOutLosses {
    /// Mean loss over the patterns that were left out.
    pub mean_loss: f64,
    /// Largest of these losses.
    pub worst_loss: f64,
    /// Number of patterns on which the configuration chosen without them keeps the limits.
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
    /// The policy's loss on the pattern; `None` if it breaks a limit there.
    pub loss: Option<f64>,
}

/// A rule that is not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotRanked {
    /// Name of the rule, or the formula.
    pub rule: String,
    /// The reason.
    pub why: UnrankedReason,
}

/// Why a rule is not ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnrankedReason {
    /// The sleep does not follow the device, so it cannot be compared over several patterns.
    DoesNotFollow,
    /// The rule uses interrupts; if they keep the floor, no sleep uses as little CPU.
    TakesInterrupts,
    /// The rule uses interrupts, whose cost a constant wake-up delay does not model.
    FreeInterrupts,
}

/// The published conclusion (`min` with 70 to 90 % is best on average), judged by this result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedScore {
    /// The best on average among `min` with 70 to 90 %; `None` when none was ranked.
    pub named: Option<ScoredPolicy>,
    /// The best on average among all others; `None` when no other was ranked.
    pub others: Option<ScoredPolicy>,
    /// Resampled sets of as many sources, drawn with repetition, as a source's patterns are alike.
    pub resamples: u32,
    /// Share of these sets in which the best on average is a `min` with 70 to 90 %, 0..1.
    pub share: f64,
    /// `Holds` if the share is at least 97.5 %, `DoesNotHold` if it is at most 2.5 %. It cannot be
    /// judged if one of the two sides was not ranked, or if fewer than three sources count.
    pub verdict: ReproduceVerdict,
}

//! A study of rules over a set of patterns: every configuration on every pattern, and each rule on
//! patterns that had no part in the choice of its parameters.

mod published;

use crate::answer::{eligible, takes_free_interrupts};
use crate::leave_out::{LossAggregate, PatternLosses};
use crate::source::SimTrace;
use crate::sweep::{CellProgress, SimulatedCells, Study, nothing_counted};
use indexmap::IndexMap;
use itertools::Itertools;
use q2c_model::Fault;
use q2c_model::stats::Rng;
use q2c_policy::PolicySpec;
use q2c_result::poll_study::{
    LeftOutLosses, LeftOutPattern, NotRanked, OwnBest, PollStudyResult, RuleScore, SCHEMA,
    ScoredPolicy, StudiedPattern, UnrankedReason,
};
use q2c_sim::{Bounds, SimOutcome, choose, score, scores};
use std::collections::BTreeMap;
use std::path::Path;

const FACT_PREFIX: &str = "pattern.";
const SOURCE_FACT: &str = "source";
/// The loss on a pattern where a configuration breaks a limit.
const LIMIT_LOSS: f64 = 1.0;

pub(crate) struct Ranking<'a> {
    pub study: &'a Study<'a>,
    /// The patterns, each with its own best configuration.
    pub patterns: Vec<StudiedPattern>,
    /// Indices of the patterns on which a configuration keeps the limits.
    pub counting: Vec<usize>,
    /// Index of each ranked configuration among the study's policies.
    pub policies: Vec<usize>,
    /// Losses by ranked configuration and pattern; `None` if a limit is broken.
    pub pattern_losses: Vec<Vec<Option<f64>>>,
    /// Losses by ranked configuration and counting pattern.
    pub losses: PatternLosses,
}

impl SimTrace {
    /// The trace's name as a pattern: its file name without the ending.
    pub fn name(&self) -> String {
        let path = Path::new(&self.input.path);
        let name = path.file_stem().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The trace's source as a pattern: the fact that names it, else the pattern's name.
    pub fn source(&self) -> String {
        let stated = self.facts.get(&format!("{FACT_PREFIX}{SOURCE_FACT}"));
        stated.cloned().unwrap_or_else(|| self.name())
    }
}

impl Study<'_> {
    /// Simulates every policy on every trace, and scores the rules on patterns that were left out
    /// of their choice. Rules that use interrupts are ranked only if `interrupts` is true: if
    /// interrupts keep the floor, no sleep uses as little CPU.
    ///
    /// # Errors
    /// Returns a fault if no I/O counts on one of the traces, or if the simulation is stopped.
    pub fn leave_out(
        &self,
        interrupts: bool,
        progress: &mut CellProgress<'_>,
    ) -> Result<PollStudyResult, Fault> {
        let cells = self.simulate(progress)?;
        let reasons = unranked_reasons(self, interrupts);
        let eligible: Vec<bool> = reasons.iter().map(Option::is_none).collect();
        let ranked = Ranking::from_losses(self, &eligible, &cells)?;
        let configurations: Vec<usize> = (0..ranked.policies.len()).collect();
        Ok(PollStudyResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cost: self.cost_in_words.clone(),
            arrival: self.loop_name().to_owned(),
            warm_up_ns: self.timing.warm_up,
            seed: self.timing.seed,
            objective: self.objective.to_string(),
            limits: self.limits.in_words(),
            configurations: configurations.iter().map(|&c| ranked.score(c)).collect(),
            not_ranked: not_ranked(self, &reasons),
            all: ranked.score_rule("", &configurations),
            rules: ranked.rules(),
            published: published::judge(&ranked),
            speed: self.speed(&cells),
            warnings: self.warnings(),
            patterns: ranked.patterns,
        })
    }
}

impl<'a> Ranking<'a> {
    pub(crate) fn from_losses(
        study: &'a Study<'a>,
        eligible: &[bool],
        cells: &SimulatedCells,
    ) -> Result<Self, Fault> {
        let policies: Vec<usize> = (0..eligible.len()).filter(|&p| eligible[p]).collect();
        let mut patterns = Vec::new();
        let mut pattern_losses = vec![Vec::new(); policies.len()];
        let simulated = cells.outcomes.iter().zip(&cells.bounds);
        for (trace, (outcomes, bounds)) in study.traces.iter().zip(simulated) {
            let (pattern, losses) = judge_pattern(study, trace, outcomes, bounds, eligible)?;
            patterns.push(pattern);
            for (row, &policy) in pattern_losses.iter_mut().zip(&policies) {
                row.push(losses[policy]);
            }
        }
        let mut counting: Vec<usize> = (0..patterns.len()).collect();
        counting.retain(|&p| patterns[p].own_best.is_some());
        let counted_losses = |row: &Vec<Option<f64>>| -> Vec<f64> {
            let losses = counting.iter().map(|&p| row[p].unwrap_or(LIMIT_LOSS));
            losses.collect()
        };
        let rows = pattern_losses.iter().map(counted_losses).collect();
        Ok(Ranking {
            losses: PatternLosses::new(rows, sources(&patterns, &counting)),
            study,
            patterns,
            counting,
            policies,
            pattern_losses,
        })
    }

    /// The counting patterns as columns of the losses, grouped by source.
    pub(crate) fn by_source(&self) -> Vec<Vec<usize>> {
        let mut columns: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (column, &pattern) in self.counting.iter().enumerate() {
            let source = self.patterns[pattern].source.as_str();
            columns.entry(source).or_default().push(column);
        }
        columns.into_values().collect()
    }

    pub(crate) fn policy(&self, configuration: usize) -> &PolicySpec {
        &self.study.policies[self.policies[configuration]]
    }

    pub(crate) fn score(&self, configuration: usize) -> ScoredPolicy {
        let row = self.losses.row(configuration);
        let losses = &self.pattern_losses[configuration];
        let within_limits = self.counting.iter().filter(|&&p| losses[p].is_some());
        ScoredPolicy {
            policy: self.policy(configuration).to_string(),
            mean_loss: q2c_model::stats::mean(row),
            worst_loss: greatest(row),
            kept: within_limits.count(),
            losses: losses.clone(),
        }
    }

    fn rules(&self) -> Vec<RuleScore> {
        let mut groups: IndexMap<String, Vec<usize>> = IndexMap::new();
        for configuration in 0..self.policies.len() {
            let name = rule_name(self.policy(configuration));
            groups.entry(name).or_default().push(configuration);
        }
        let groups = groups.iter();
        let scored = groups.filter_map(|(name, members)| self.score_rule(name, members));
        let mut rules: Vec<RuleScore> = scored.collect();
        rules.sort_by(|a, b| ordering_loss(a).total_cmp(&ordering_loss(b)));
        rules
    }

    pub(crate) fn score_rule(&self, name: &str, among: &[usize]) -> Option<RuleScore> {
        let counting: Vec<usize> = (0..self.counting.len()).collect();
        let best = |by| Some(self.score(self.losses.best(among, &counting, by)?));
        let several = self.losses.sources() > 1;
        let sources = several.then(|| self.losses.without_source(among)).flatten();
        let patterns = self.losses.without_pattern(among);
        let patterns = patterns.map(|chosen| self.left_out_losses(&chosen));
        Some(RuleScore {
            rule: name.to_owned(),
            configurations: among.len(),
            on_average: best(LossAggregate::Mean)?,
            worst_case: best(LossAggregate::Worst)?,
            patterns_left_out: patterns.unwrap_or_default(),
            sources_left_out: sources.map(|chosen| self.left_out_losses(&chosen)),
        })
    }

    fn left_out_losses(&self, chosen: &[usize]) -> LeftOutLosses {
        let loss = |(column, &c): (usize, &usize)| self.losses.row(c)[column];
        let losses: Vec<f64> = chosen.iter().enumerate().map(loss).collect();
        let pattern = |(&configuration, &pattern): (&usize, &usize)| LeftOutPattern {
            pattern,
            policy: self.policy(configuration).to_string(),
            loss: self.pattern_losses[configuration][pattern],
        };
        let patterns: Vec<_> = chosen.iter().zip(&self.counting).map(pattern).collect();
        LeftOutLosses {
            mean_loss: q2c_model::stats::mean(&losses),
            worst_loss: greatest(&losses),
            kept: patterns.iter().filter(|p| p.loss.is_some()).count(),
            each: patterns,
        }
    }
}

pub(crate) fn draw_sources(sources: &[Vec<usize>], rng: &mut Rng) -> Vec<usize> {
    let count = sources.len() as u64;
    let drawn = (0..count).flat_map(|_| &sources[rng.below(count) as usize]);
    drawn.copied().collect()
}

fn greatest(losses: &[f64]) -> f64 {
    losses.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn ordering_loss(rule: &RuleScore) -> f64 {
    let sources = rule.sources_left_out.as_ref();
    match (sources, rule.patterns_left_out.each.is_empty()) {
        (Some(left_out), _) => left_out.mean_loss,
        (None, false) => rule.patterns_left_out.mean_loss,
        (None, true) => rule.on_average.mean_loss,
    }
}

/// The name of a rule. A formula counts as a rule of its own, whatever its window.
fn rule_name(policy: &PolicySpec) -> String {
    match (policy.rule().name, policy.formula()) {
        ("rule", Some(formula)) => formula.to_string(),
        (name, Some(formula)) => format!("{name}: {formula}"),
        (name, None) => name.to_owned(),
    }
}

fn sources(patterns: &[StudiedPattern], counting: &[usize]) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut number = |&pattern: &usize| {
        let next = numbers.len();
        let source = patterns[pattern].source.as_str();
        *numbers.entry(source).or_insert(next)
    };
    counting.iter().map(&mut number).collect()
}

fn judge_pattern(
    study: &Study<'_>,
    trace: &SimTrace,
    outcomes: &[SimOutcome],
    bounds: &Bounds,
    eligible: &[bool],
) -> Result<(StudiedPattern, Vec<Option<f64>>), Fault> {
    if bounds.poll.ios == 0 {
        return Err(nothing_counted(&trace.input.path));
    }
    let (objective, limits) = (study.objective, &study.limits);
    let choice = choose(outcomes, eligible, &bounds.poll, objective, limits);
    let scores = scores(outcomes, eligible, objective, limits, choice.floor_iops);
    let allowed = scores.iter().flatten().copied();
    let max = allowed.fold(f64::NEG_INFINITY, f64::max);
    let losses = scores.iter().map(|s| s.map(|s| 1.0 - s / max)).collect();
    // `choose` prefers fewer misses among nearly equal ones; a loss counts from the true maximum.
    let best = scores.iter().position(|score| *score == Some(max));
    let own_best = best.map(|best| OwnBest {
        policy: study.policies[best].to_string(),
        gives: outcomes[best].gives,
        oracle_over: score(&bounds.oracle, objective) / max,
    });
    let facts = trace.facts.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(FACT_PREFIX)?;
        Some((name.to_owned(), value.clone()))
    });
    let pattern = StudiedPattern {
        source: trace.source(),
        name: trace.name(),
        facts: facts.collect(),
        input: trace.input.clone(),
        measured_ns: study.configuration_on(trace).drive.measure,
        poll: bounds.poll.gives,
        oracle: bounds.oracle.gives,
        floor_iops: choice.floor_iops,
        floor: choice.floor,
        own_best,
    };
    Ok((pattern, losses))
}

pub(crate) fn unranked_reasons(study: &Study<'_>, interrupts: bool) -> Vec<Option<UnrankedReason>> {
    let reason = |(policy, eligible): (&PolicySpec, bool)| {
        if takes_free_interrupts(study.cost, policy) {
            Some(UnrankedReason::FreeInterrupts)
        } else if policy.rule().interrupts && !interrupts {
            Some(UnrankedReason::TakesInterrupts)
        } else if eligible {
            None
        } else {
            Some(UnrankedReason::DoesNotFollow)
        }
    };
    let policies = study.policies.iter().zip(eligible(study));
    policies.map(reason).collect()
}

fn not_ranked(study: &Study<'_>, reasons: &[Option<UnrankedReason>]) -> Vec<NotRanked> {
    let policies = study.policies.iter().zip(reasons);
    let not_ranked = policies.filter_map(|(policy, why)| {
        let rule = rule_name(policy);
        Some(NotRanked { rule, why: (*why)? })
    });
    not_ranked.unique_by(|one| one.rule.clone()).collect()
}

#[cfg(test)]
mod tests;

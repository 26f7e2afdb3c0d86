//! Contenders on the patterns that were held out, and rules that better Linux's.

use crate::poll_study::Ranked;
use crate::sweep::SimulatedCells;
use q2c_model::stats::Rng;
use q2c_policy::{LINUX, PolicySpec};
use q2c_result::poll_search::{Against, Both, Contender, ContenderRole, Figures};
use q2c_result::poll_study::StudiedPattern;
use q2c_sim::{SimOutcome, sweep};
use std::collections::BTreeMap;

const RESAMPLES: usize = 2_000;
const ENDS: [f64; 2] = [0.025, 0.975];

pub(super) struct Opened {
    pub patterns: Vec<StudiedPattern>,
    pub contenders: Vec<Contender>,
    pub both: Vec<Both>,
    pub seconds: f64,
}

pub(super) fn opened(
    ranked: &Ranked<'_>,
    roles: &[ContenderRole],
    cells: &SimulatedCells,
) -> Opened {
    let place = |policy: usize| ranked.policies.binary_search(&policy).ok();
    let places: Vec<Option<usize>> = (0..roles.len()).map(place).collect();
    let reference = |(role, place): (&ContenderRole, &Option<usize>)| {
        place.filter(|_| *role == ContenderRole::Reference)
    };
    let references: Vec<usize> = roles.iter().zip(&places).filter_map(reference).collect();
    let contenders = roles.iter().zip(&places).filter_map(|(&role, place)| {
        let configuration = (*place)?;
        let scored = ranked.scored(configuration);
        let against = match role {
            ContenderRole::Finalist => references
                .iter()
                .map(|&reference| against(ranked, configuration, reference))
                .collect(),
            ContenderRole::Reference | ContenderRole::Other => Vec::new(),
        };
        Some(Contender {
            policy: scored.policy.clone(),
            role,
            searched: None,
            held_out: scored,
            against,
        })
    });
    Opened {
        contenders: contenders.collect(),
        patterns: ranked.patterns.clone(),
        both: better_than_linux(ranked, cells, true),
        seconds: cells.seconds,
    }
}

fn against(ranked: &Ranked<'_>, configuration: usize, reference: usize) -> Against {
    let [losses, of_reference] = [configuration, reference].map(|c| ranked.losses.row(c).iter());
    let gains = of_reference.zip(losses);
    let gains: Vec<f64> = gains.map(|(theirs, ours)| theirs - ours).collect();
    let sources = ranked.counting.iter();
    let sources = sources.map(|&p| ranked.patterns[p].source.as_str());
    let (low, high) = interval(&gains, sources, ranked.study.timing.seed);
    Against {
        reference: ranked.policy(reference).to_string(),
        better: gains.iter().filter(|gain| **gain > 0.0).count(),
        of: gains.len(),
        gain: q2c_model::stats::mean(&gains),
        low,
        high,
    }
}

/// Over resampled sets of sources, each with all of its patterns; a single source has no bounds.
fn interval<'s>(gains: &[f64], sources: impl Iterator<Item = &'s str>, seed: u64) -> (f64, f64) {
    let mut of_source: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (source, gain) in sources.zip(gains) {
        of_source.entry(source).or_default().push(*gain);
    }
    let of_source: Vec<Vec<f64>> = of_source.into_values().collect();
    if of_source.len() < 2 {
        return (f64::MIN, f64::MAX);
    }
    let mut rng = Rng::new(seed);
    let count = of_source.len();
    let mut mean = |_| {
        let drawn = (0..count).flat_map(|_| &of_source[rng.below(count as u64) as usize]);
        q2c_model::stats::mean(&drawn.copied().collect::<Vec<f64>>())
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(&mut mean).collect();
    means.sort_by(f64::total_cmp);
    let [low, high] = ENDS.map(|end| q2c_model::stats::percentile(&means, end));
    (low, high)
}

/// For each pattern, those within the limits that better Linux's rule in both.
pub(super) fn better_than_linux(
    ranked: &Ranked<'_>,
    cells: &SimulatedCells,
    held_out: bool,
) -> Vec<Both> {
    let on_trace = |(pattern, trace)| {
        let linux: PolicySpec = LINUX.parse().expect("Linux's rule is in the registry");
        let linux = sweep(&[linux], &ranked.study.configuration_on(trace))[0];
        Both {
            held_out,
            ..both_on(ranked, pattern, &linux, &cells.outcomes[pattern])
        }
    };
    let traces = ranked.study.traces.iter().enumerate();
    traces.map(on_trace).collect()
}

fn both_on(
    ranked: &Ranked<'_>,
    pattern: usize,
    linux: &SimOutcome,
    outcomes: &[SimOutcome],
) -> Both {
    let theirs = &linux.gives.rates;
    let better = |&c: &usize| {
        let rates = &outcomes[ranked.policies[c]].gives.rates;
        let kept = ranked.kept[c][pattern].is_some();
        kept && rates.miss_rate < theirs.miss_rate && rates.cpu_pct < theirs.cpu_pct
    };
    let better: Vec<usize> = (0..ranked.policies.len()).filter(better).collect();
    let cpu = |c: &usize| outcomes[ranked.policies[*c]].gives.rates.cpu_pct;
    let least = better.iter().min_by(|a, b| cpu(a).total_cmp(&cpu(b)));
    Both {
        pattern: ranked.patterns[pattern].name.clone(),
        held_out: false,
        tried: ranked.policies.len(),
        linux: linux.gives,
        configurations: better.len(),
        least: least.map(|&c| Figures {
            policy: ranked.policy(c).to_string(),
            gives: outcomes[ranked.policies[c]].gives,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources of one pattern each: the means of the draws are -0.1 (a quarter of them), 0.2
    /// (half) and 0.5 (a quarter). With both patterns of one source there is one set.
    #[test]
    fn sources_are_drawn_as_wholes() {
        let gains = [0.5, -0.1];
        assert_eq!(interval(&gains, ["a", "b"].into_iter(), 1), (-0.1, 0.5));
        let same = [0.3, 0.3];
        let (low, high) = interval(&same, ["a", "b"].into_iter(), 1);
        assert!((low - 0.3).abs() < 1e-12 && (high - 0.3).abs() < 1e-12);
        let one = interval(&gains, ["a", "a"].into_iter(), 1);
        assert_eq!(one, (f64::MIN, f64::MAX));
    }
}

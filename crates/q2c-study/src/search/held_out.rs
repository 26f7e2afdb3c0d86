//! The contenders on the patterns that were held out, and rules that beat Linux's.

use crate::poll_study::{Ranking, draw_sources};
use crate::sweep::SimulatedCells;
use q2c_model::stats::Rng;
use q2c_result::poll_search::{
    BeatenLinux, Contender, ContenderRole, ReferenceComparison, SimulatedPolicy,
};
use q2c_result::poll_study::StudiedPattern;

/// Number of resampled sets of sources, and the quantiles of their means that bound the interval.
const RESAMPLES: usize = 2_000;
const BOUNDS: [f64; 2] = [0.025, 0.975];

pub(super) struct HeldOutResult {
    pub patterns: Vec<StudiedPattern>,
    pub contenders: Vec<Contender>,
    pub beaten_linux: Vec<BeatenLinux>,
    pub seconds: f64,
}

pub(super) fn judge(
    ranked: &Ranking<'_>,
    roles: &[ContenderRole],
    cells: &SimulatedCells,
) -> HeldOutResult {
    let rank = |policy: usize| ranked.policies.binary_search(&policy).ok();
    let ranks: Vec<Option<usize>> = (0..roles.len()).map(rank).collect();
    let ranked_roles = roles.iter().zip(&ranks);
    let ranked_roles = ranked_roles.filter_map(|(role, rank)| Some((*role, (*rank)?)));
    let ranked_roles: Vec<(ContenderRole, usize)> = ranked_roles.collect();
    let of_role = |wanted| {
        let ranked_roles = ranked_roles.iter().filter(move |(role, _)| *role == wanted);
        ranked_roles.map(|(_, rank)| *rank)
    };
    let contender = |&(role, rank): &(ContenderRole, usize)| {
        let references = of_role(ContenderRole::Reference);
        let against = references.map(|reference| compare(ranked, rank, reference));
        let held_out = ranked.score(rank);
        Contender {
            policy: held_out.policy.clone(),
            role,
            searched: None,
            held_out,
            against: if role == ContenderRole::Finalist {
                against.collect()
            } else {
                Vec::new()
            },
        }
    };
    HeldOutResult {
        contenders: ranked_roles.iter().map(contender).collect(),
        patterns: ranked.patterns.clone(),
        beaten_linux: better_than_linux(ranked, cells, true),
        seconds: cells.seconds,
    }
}

fn compare(ranked: &Ranking<'_>, configuration: usize, reference: usize) -> ReferenceComparison {
    let [losses, of_reference] = [configuration, reference].map(|c| ranked.losses.row(c).iter());
    let gains = of_reference.zip(losses);
    let gains: Vec<f64> = gains.map(|(reference, loss)| reference - loss).collect();
    let (low, high) = interval(&gains, &ranked.by_source(), ranked.study.timing.seed);
    ReferenceComparison {
        reference: ranked.policy(reference).to_string(),
        better: gains.iter().filter(|gain| **gain > 0.0).count(),
        of: gains.len(),
        gain: q2c_model::stats::mean(&gains),
        low,
        high,
    }
}

/// The interval of the mean gain over resampled sets of sources; unbounded for a single source.
fn interval(gains: &[f64], sources: &[Vec<usize>], seed: u64) -> (f64, f64) {
    if sources.len() < 2 {
        return (f64::MIN, f64::MAX);
    }
    let mut rng = Rng::new(seed);
    let mut mean = |_| {
        let patterns = draw_sources(sources, &mut rng).into_iter();
        let gains = patterns.map(|p| gains[p]);
        q2c_model::stats::mean(&gains.collect::<Vec<f64>>())
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(&mut mean).collect();
    means.sort_by(f64::total_cmp);
    let [low, high] = BOUNDS.map(|end| q2c_model::stats::percentile(&means, end));
    (low, high)
}

/// For each pattern, the configurations within the limits that beat Linux's rule in both figures.
pub(super) fn better_than_linux(
    ranked: &Ranking<'_>,
    cells: &SimulatedCells,
    held_out: bool,
) -> Vec<BeatenLinux> {
    let traces = ranked.study.traces.iter().enumerate();
    let compared = traces.map(|(pattern, trace)| {
        let linux = ranked.study.simulate_linux(trace).gives;
        let gives = |c: usize| cells.outcomes[pattern][ranked.policies[c]].gives;
        let is_better = |&c: &usize| {
            let (rates, kept) = (gives(c).rates, ranked.pattern_losses[c][pattern].is_some());
            kept && rates.miss_rate < linux.rates.miss_rate && rates.cpu_pct < linux.rates.cpu_pct
        };
        let better: Vec<usize> = (0..ranked.policies.len()).filter(is_better).collect();
        let cpu = |c: &usize| gives(*c).rates.cpu_pct;
        let least = better.iter().min_by(|a, b| cpu(a).total_cmp(&cpu(b)));
        BeatenLinux {
            pattern: ranked.patterns[pattern].name.clone(),
            held_out,
            tried: ranked.policies.len(),
            linux,
            configurations: better.len(),
            least: least.map(|&c| SimulatedPolicy {
                policy: ranked.policy(c).to_string(),
                gives: gives(c),
            }),
        }
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources with one pattern each: the means of the draws are -0.1 (a quarter), 0.2 (half)
    /// and 0.5 (a quarter). If one source has both patterns, there is only one set.
    #[test]
    fn sources_are_drawn_as_wholes() {
        let gains = [0.5, -0.1];
        let sources = [vec![0], vec![1]];
        assert_eq!(interval(&gains, &sources, 1), (-0.1, 0.5));
        let (low, high) = interval(&[0.3, 0.3], &sources, 1);
        assert!((low - 0.3).abs() < 1e-12 && (high - 0.3).abs() < 1e-12);
        let one = interval(&gains, &[vec![0, 1]], 1);
        assert_eq!(one, (f64::MIN, f64::MAX));
    }
}

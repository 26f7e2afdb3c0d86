//! The contenders on the patterns that were held out, and rules that beat Linux's.

use crate::poll_study::{Ranked, drawn};
use crate::sweep::SimulatedCells;
use q2c_model::stats::Rng;
use q2c_result::poll_search::{Against, Both, Contender, ContenderRole, Figures};
use q2c_result::poll_study::StudiedPattern;
use q2c_sim::SimOutcome;

/// Number of resampled sets of sources, and the quantiles of their means that bound the interval.
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
    let placed = roles.iter().zip(&places);
    let placed = placed.filter_map(|(role, place)| Some((*role, (*place)?)));
    let placed: Vec<(ContenderRole, usize)> = placed.collect();
    let of_role = |wanted| {
        let placed = placed.iter().filter(move |(role, _)| *role == wanted);
        placed.map(|(_, place)| *place)
    };
    let contender = |&(role, place): &(ContenderRole, usize)| {
        let references = of_role(ContenderRole::Reference);
        let against = references.map(|reference| against(ranked, place, reference));
        let held_out = ranked.scored(place);
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
    Opened {
        contenders: placed.iter().map(contender).collect(),
        patterns: ranked.patterns.clone(),
        both: better_than_linux(ranked, cells, true),
        seconds: cells.seconds,
    }
}

fn against(ranked: &Ranked<'_>, configuration: usize, reference: usize) -> Against {
    let [losses, of_reference] = [configuration, reference].map(|c| ranked.losses.row(c).iter());
    let gains = of_reference.zip(losses);
    let gains: Vec<f64> = gains.map(|(theirs, ours)| theirs - ours).collect();
    let (low, high) = interval(&gains, &ranked.by_source(), ranked.study.timing.seed);
    Against {
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
        let gains = drawn(sources, &mut rng).into_iter().map(|p| gains[p]);
        q2c_model::stats::mean(&gains.collect::<Vec<f64>>())
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(&mut mean).collect();
    means.sort_by(f64::total_cmp);
    let [low, high] = ENDS.map(|end| q2c_model::stats::percentile(&means, end));
    (low, high)
}

/// For each pattern, the configurations within the limits that beat Linux's rule in both figures.
pub(super) fn better_than_linux(
    ranked: &Ranked<'_>,
    cells: &SimulatedCells,
    held_out: bool,
) -> Vec<Both> {
    let on_trace = |(pattern, trace)| Both {
        held_out,
        ..both_on(
            ranked,
            pattern,
            &ranked.study.linux_on(trace),
            &cells.outcomes[pattern],
        )
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

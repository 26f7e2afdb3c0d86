//! Judges the published conclusion: `min` with 70 to 90 % is best on average over many patterns.

use super::{Ranking, draw_sources};
use crate::answer::param_value;
use crate::leave_out::LossAggregate;
use q2c_model::stats::Rng;
use q2c_policy::PolicySpec;
use q2c_result::poll_study::PublishedScore;
use q2c_result::reproduce::ReproduceVerdict;

const RULE: &str = "min";
const RATIOS: std::ops::RangeInclusive<f64> = 0.70..=0.90;
/// A ratio that was read from text may differ from a bound by this rounding error.
const ROUNDING: f64 = 1e-9;
const RESAMPLES: u32 = 1_000;
/// The smallest number of sources from which the conclusion is judged.
const MIN_SOURCES: usize = 3;
/// The share of sets up to which the conclusion does not hold, and the share from which it holds.
const VERDICT_SHARES: [f64; 2] = [0.025, 0.975];

pub(super) fn judge(ranked: &Ranking<'_>) -> PublishedScore {
    let configurations: Vec<usize> = (0..ranked.policies.len()).collect();
    let (named, others): (Vec<usize>, Vec<usize>) = configurations
        .iter()
        .partition(|&&c| is_published(ranked.policy(c)));
    let patterns: Vec<usize> = (0..ranked.counting.len()).collect();
    let best = |among: &[usize]| {
        let best = ranked.losses.best(among, &patterns, LossAggregate::Mean);
        best.map(|c| ranked.score(c))
    };
    let (named, others) = (best(&named), best(&others));
    let enough_sources = ranked.losses.sources() >= MIN_SOURCES;
    let share = (named.is_some() && others.is_some() && enough_sources)
        .then(|| holding_share(ranked, &configurations));
    PublishedScore {
        named,
        others,
        resamples: share.map_or(0, |_| RESAMPLES),
        share: share.unwrap_or_default(),
        verdict: match share {
            None => ReproduceVerdict::CannotJudge,
            Some(share) if share >= VERDICT_SHARES[1] => ReproduceVerdict::Holds,
            Some(share) if share <= VERDICT_SHARES[0] => ReproduceVerdict::DoesNotHold,
            Some(_) => ReproduceVerdict::Undecided,
        },
    }
}

fn is_published(policy: &PolicySpec) -> bool {
    let within =
        |ratio: f64| RATIOS.contains(&(ratio - ROUNDING)) || RATIOS.contains(&(ratio + ROUNDING));
    policy.rule().name == RULE && param_value(policy, "ratio").is_some_and(within)
}

fn holding_share(ranked: &Ranking<'_>, among: &[usize]) -> f64 {
    let sources = ranked.by_source();
    let mut rng = Rng::new(ranked.study.timing.seed);
    let mut holds = 0;
    for _ in 0..RESAMPLES {
        let set = draw_sources(&sources, &mut rng);
        let best = ranked.losses.best(among, &set, LossAggregate::Mean);
        holds += u32::from(best.is_some_and(|c| is_published(ranked.policy(c))));
    }
    f64::from(holds) / f64::from(RESAMPLES)
}

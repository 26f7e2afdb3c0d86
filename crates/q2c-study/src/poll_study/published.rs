//! Judges the published conclusion: `min` with 70 to 90 % is best on average over many patterns.

use super::{Ranked, drawn};
use crate::answer::param;
use crate::leave_out::LossAggregate;
use q2c_model::stats::Rng;
use q2c_policy::PolicySpec;
use q2c_result::poll_study::Published;
use q2c_result::reproduce::ReproduceVerdict;

const RULE: &str = "min";
const RATIOS: std::ops::RangeInclusive<f64> = 0.70..=0.90;
/// A ratio that was read from text may differ from a bound by this rounding error.
const ROUNDING: f64 = 1e-9;
const RESAMPLES: u32 = 1_000;
/// The smallest number of sources from which the conclusion is judged.
const FEWEST: usize = 3;
/// The share of sets up to which the conclusion does not hold, and the share from which it holds.
const JUDGED: [f64; 2] = [0.025, 0.975];

pub(super) fn judged(ranked: &Ranked<'_>) -> Published {
    let configurations: Vec<usize> = (0..ranked.policies.len()).collect();
    let is_named = |c: &usize| is_named(ranked.policy(*c));
    let (named, others): (Vec<usize>, Vec<usize>) =
        configurations.iter().partition(|c| is_named(c));
    let on: Vec<usize> = (0..ranked.counting.len()).collect();
    let best = |among: &[usize]| {
        let best = ranked.losses.best(among, &on, LossAggregate::Mean);
        best.map(|c| ranked.scored(c))
    };
    let (of_named, of_others) = (best(&named), best(&others));
    let both = of_named.is_some() && of_others.is_some();
    let share = (both && ranked.losses.sources() >= FEWEST).then(|| share(ranked, &configurations));
    Published {
        named: of_named,
        others: of_others,
        resamples: share.map_or(0, |_| RESAMPLES),
        share: share.unwrap_or_default(),
        verdict: match share {
            None => ReproduceVerdict::CannotJudge,
            Some(share) if share >= JUDGED[1] => ReproduceVerdict::Holds,
            Some(share) if share <= JUDGED[0] => ReproduceVerdict::DoesNotHold,
            Some(_) => ReproduceVerdict::Undecided,
        },
    }
}

fn is_named(policy: &PolicySpec) -> bool {
    let within =
        |ratio: f64| RATIOS.contains(&(ratio - ROUNDING)) || RATIOS.contains(&(ratio + ROUNDING));
    policy.rule().name == RULE && param(policy, "ratio").is_some_and(within)
}

fn share(ranked: &Ranked<'_>, all: &[usize]) -> f64 {
    let sources = ranked.by_source();
    let mut rng = Rng::new(ranked.study.timing.seed);
    let mut holds = 0;
    for _ in 0..RESAMPLES {
        let set = drawn(&sources, &mut rng);
        let best = ranked.losses.best(all, &set, LossAggregate::Mean);
        holds += u32::from(best.is_some_and(|c| is_named(ranked.policy(c))));
    }
    f64::from(holds) / f64::from(RESAMPLES)
}

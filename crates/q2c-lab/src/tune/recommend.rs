//! The referee's decision as results have it.

use super::Tune;
use super::rounds::Case;
use q2c_advice::{LINUX, Method, Trial};
use q2c_result::tune::{MethodName, Recommendation};
use q2c_stats::{Ratio, ratio_of_medians};

/// The bootstrap's: any will do, always the same.
const RATIO_SEED: u64 = 1;

/// The recommendation for one block size.
pub(super) fn of(tune: &Tune<'_>, case: &Case) -> Recommendation {
    let decision = case.referee.decision();
    let tried: Vec<(&Method, &[Trial])> = case
        .referee
        .tried()
        .map(|(method, _, trials)| (method, trials))
        .collect();
    let named = |index: usize| name(tried[index].0);
    let MethodName { method, policy } = decision
        .chosen
        .map_or_else(|| name(&Method::Poll), named);
    Recommendation {
        bs: case.bs,
        verdict: decision.verdict,
        method,
        policy,
        floor: decision.floor,
        floor_asked: tune.spec.min_iops.clone().unwrap_or_default(),
        nearest: decision.nearest.map(named),
        following: decision.following.map(named),
        open: decision.open.iter().map(|&index| named(index)).collect(),
        noise_pct: case.referee.noise().iops * 100.0,
        over_linux: decision.chosen.and_then(|i| over_linux(&tried, i)),
    }
}

fn name(method: &Method) -> MethodName {
    let (method, policy) = match method {
        Method::Interrupt => ("interrupt", String::new()),
        Method::Poll => ("poll", String::new()),
        Method::Hybrid(policy) => ("hybrid", policy.to_string()),
    };
    MethodName {
        method: method.to_owned(),
        policy,
    }
}

/// KIOPS/core over polling of the chosen rule, over that of Linux's rule.
fn over_linux(tried: &[(&Method, &[Trial])], chosen: usize) -> Option<Ratio> {
    let linux = Method::Hybrid(LINUX.parse().expect("Linux's rule is in the registry"));
    let (_, theirs) = tried.iter().find(|(method, _)| **method == linux)?;
    let (method, own) = tried[chosen];
    let per_core = |trials: &[Trial]| -> Option<Vec<f64>> {
        trials.iter().map(Trial::relative_per_core).collect()
    };
    method.policy().filter(|_| *method != linux)?;
    ratio_of_medians(&per_core(own)?, &per_core(theirs)?, RATIO_SEED)
}

//! Selects, by simulation, a few rules that are worth a trial and differ from each other.

use crate::goal::MIN_GAIN;
use crate::outlook::{Outlook, outlook_of};
use q2c_policy::PolicySpec;
use q2c_result::role::Role;
use q2c_sim::pareto_front;
use std::collections::BTreeMap;

/// A [`Role::BelowFloor`] rule lies below the floor by at most this share of the floor.
const MAX_SHARE_BELOW: f64 = 0.08;
/// Number of standard errors by which a [`Role::Safe`] rule lies above the floor.
const SAFE_ERRORS: f64 = 0.8;
/// Rules of one family are alike if their sleeps and their IOPS differ by at most these shares.
const ALIKE_SLEEP: f64 = 0.07;
const ALIKE_IOPS: f64 = 0.01;

/// Returns rules that are not like any in `taken`, in the order in which to try them. The user's
/// own come first; only those that `taken` names are left out.
pub(crate) fn candidates(
    outlooks: &[Outlook],
    floor: f64,
    user_rules: &[PolicySpec],
    taken: &[PolicySpec],
) -> Vec<(PolicySpec, Role)> {
    let mut chosen = Chosen::new(outlooks, taken);
    for policy in user_rules {
        chosen.add_user_rule(policy);
    }
    let sleeping = outlooks.iter().filter(|o| o.sleep_ns > 0.0 && o.saves);
    let sleeping: Vec<&Outlook> = sleeping.collect();
    let following = || sleeping.iter().copied().filter(|o| o.follows_device);
    let above = |errors: f64| following().filter(move |o| o.iops.errors_above(floor) >= errors);
    chosen.add(best(following(), |o| o.robust), Role::Robust);
    chosen.add(best(above(SAFE_ERRORS), |o| o.value), Role::Safe);
    chosen.add(best(above(0.0), |o| o.value), Role::Sharp);
    let below =
        following().filter(|o| (floor * (1.0 - MAX_SHARE_BELOW)..floor).contains(&o.iops.ratio()));
    chosen.add(best(below, |o| o.robust), Role::BelowFloor);
    let mut families: BTreeMap<&str, Vec<&Outlook>> = BTreeMap::new();
    for &outlook in &sleeping {
        let family = families.entry(outlook.policy.rule().name);
        family.or_default().push(outlook);
    }
    for family in families.into_values() {
        chosen.add(best(family.into_iter(), |o| o.robust), Role::Family);
    }
    for outlook in front(&sleeping) {
        chosen.add(Some(outlook), Role::Front);
    }
    chosen.picked
}

fn best<'a>(
    outlooks: impl Iterator<Item = &'a Outlook>,
    figure: impl Fn(&Outlook) -> f64,
) -> Option<&'a Outlook> {
    outlooks.max_by(|a, b| figure(a).total_cmp(&figure(b)))
}

/// Up to three rules, evenly spaced over the paying part of the front of IOPS against CPU.
fn front<'a>(outlooks: &[&'a Outlook]) -> Vec<&'a Outlook> {
    let point = |o: &&Outlook| (o.iops.ratio(), o.cpu_pct);
    let points: Vec<(f64, f64)> = outlooks.iter().map(point).collect();
    let front = pareto_front(&points).into_iter().map(|i| outlooks[i]);
    let paying: Vec<&Outlook> = front.filter(|o| o.per_core.ratio() > MIN_GAIN).collect();
    let at_quarter = |n: usize| paying.get(paying.len() * n / 4).copied();
    [3, 2, 1].into_iter().filter_map(at_quarter).collect()
}

struct Chosen<'a> {
    outlooks: &'a [Outlook],
    taken: Vec<&'a Outlook>,
    policies: Vec<PolicySpec>,
    picked: Vec<(PolicySpec, Role)>,
}

impl<'a> Chosen<'a> {
    fn new(outlooks: &'a [Outlook], taken: &[PolicySpec]) -> Self {
        Chosen {
            outlooks,
            taken: taken
                .iter()
                .filter_map(|policy| outlook_of(outlooks, policy))
                .collect(),
            policies: taken.to_vec(),
            picked: Vec::new(),
        }
    }

    fn add(&mut self, outlook: Option<&'a Outlook>, role: Role) {
        if let Some(outlook) = outlook.filter(|o| !self.taken.iter().any(|t| are_alike(t, o))) {
            self.taken.push(outlook);
            self.picked.push((outlook.policy.clone(), role));
        }
    }

    fn add_user_rule(&mut self, policy: &PolicySpec) {
        if !self.policies.contains(policy) {
            self.policies.push(policy.clone());
            self.taken.extend(outlook_of(self.outlooks, policy));
            self.picked.push((policy.clone(), Role::User));
        }
    }
}

fn are_alike(a: &Outlook, b: &Outlook) -> bool {
    let near = |x: f64, y: f64, share: f64| (x - y).abs() <= share * x.max(y);
    let family = |o: &Outlook| o.policy.rule().name;
    a.policy == b.policy
        || family(a) == family(b)
            && near(a.sleep_ns, b.sleep_ns, ALIKE_SLEEP)
            && near(a.iops.ratio(), b.iops.ratio(), ALIKE_IOPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Estimate;

    fn outlook(policy: &str, iops: f64, per_core: f64, sleep_us: f64) -> Outlook {
        let estimate = |ratio: f64| Estimate {
            log: ratio.ln(),
            se: 0.01,
        };
        Outlook {
            policy: policy.parse().unwrap(),
            follows_device: !policy.starts_with("fixed"),
            iops: estimate(iops),
            per_core: estimate(per_core),
            cpu_pct: 100.0 / per_core,
            saves: 100.0 / per_core <= 97.0,
            sleep_ns: sleep_us * 1e3,
            miss_rate: 0.0,
            value: per_core,
            robust: per_core * (iops / 0.97).min(1.0).powi(12),
        }
    }

    /// Six rules made by hand: `mean:50%` is at the edge of the floor, `min:55%` is safe,
    /// `mean:60%` is below the floor, and `min:50%` is like `min:55%`.
    #[test]
    fn candidates_differ_and_know_their_roles() {
        let outlooks = [
            outlook("min:50%,10ms", 0.99, 1.3, 30.0),
            outlook("min:55%,10ms", 0.988, 1.31, 31.0),
            outlook("mean:50%,10ms", 0.972, 1.5, 40.0),
            outlook("mean:60%,10ms", 0.95, 1.7, 50.0),
            outlook("fixed:30us", 0.99, 1.6, 30.0),
            outlook("min:5%,1ms", 1.0, 1.0, 0.0),
        ];
        let picked = candidates(&outlooks, 0.97, &[], &[]);
        let with_role = |role: Role| -> Vec<String> {
            picked
                .iter()
                .filter(|(_, r)| *r == role)
                .map(|(policy, _)| policy.to_string())
                .collect()
        };
        let text = |policy: &str| policy.parse::<PolicySpec>().unwrap().to_string();
        assert_eq!(with_role(Role::Robust), [text("mean:50%,10ms")]);
        assert_eq!(with_role(Role::Safe), [text("min:55%,10ms")]);
        assert_eq!(with_role(Role::BelowFloor), [text("mean:60%,10ms")]);
        assert_eq!(with_role(Role::Family), [text("fixed:30us")]);
        let policies: Vec<&PolicySpec> = picked.iter().map(|(policy, _)| policy).collect();
        for (index, reason) in [(0, "like min:55%"), (5, "never sleeps")] {
            let picked = policies.contains(&&outlooks[index].policy);
            assert!(!picked, "{reason}: {policies:?}");
        }
    }

    #[test]
    fn what_was_tried_is_not_proposed_again_and_own_rules_always_are() {
        let outlooks = [outlook("min:50%,10ms", 0.99, 1.3, 30.0)];
        let taken = [outlooks[0].policy.clone()];
        assert_eq!(candidates(&outlooks, 0.97, &[], &taken), []);
        let user_rules: [PolicySpec; 1] = ["rule:0.5 * min".parse().unwrap()];
        let picked = candidates(&outlooks, 0.97, &user_rules, &taken);
        assert_eq!(picked, user_rules.map(|policy| (policy, Role::User)));
    }
}

//! The simulations that the arguments of `q2c poll sim`, `sweep`, `study` and `search` ask for, and
//! the rule of `q2c poll steer`.

use crate::args::{RuleArg, SimArgs, SteerArgs, StudyArgs, TimingArgs};
use q2c_model::Nanos;
use q2c_policy::{Family, FamilyError, PolicySpec, SpecError};
use q2c_sim::Arrival;
use q2c_study::{Timing, standard};

/// When submissions come: as recorded with `--open`, else after the recorded think time.
pub fn arrival(open: bool) -> Arrival {
    match open {
        true => Arrival::Recorded,
        false => Arrival::Think,
    }
}

/// The simulated time.
pub fn timing(args: &TimingArgs) -> Timing {
    Timing {
        warm_up: args.warm_up,
        measure: args.measure,
        seed: args.seed,
    }
}

/// The rules of `q2c poll sim`: the named ones, then the user's own.
pub fn sim_policies(args: &SimArgs) -> Result<Vec<PolicySpec>, SpecError> {
    let own = args.simulated.own.policies()?;
    Ok([args.policy.clone(), own].concat())
}

/// The policies of `q2c poll study`: those asked for, and behind them those of the standard grid
/// that are not among them. Its fixed sleeps are for this median latency; they are named in the
/// result, not ranked.
pub fn study_policies(args: &StudyArgs, p50: Nanos) -> Result<Vec<PolicySpec>, FamilyError> {
    let families = args.rules.iter().map(Family::spell_out);
    let mut all = families.collect::<Result<Vec<_>, _>>()?.concat();
    all.extend(args.on.simulated.own.policies()?);
    if !args.only {
        let standard = standard(p50).into_iter();
        let asked = all.clone();
        all.extend(standard.filter(|policy| !asked.contains(policy)));
    }
    Ok(all)
}

/// Length of a formula's windows in `q2c poll steer` without `--period`.
const PERIOD: Nanos = Nanos::from_millis(10);

/// The rule of `q2c poll steer` as a policy, with its parameters. The error says that the formula
/// does not fit its period, or that a named rule was given another one.
pub fn steer_policy(args: &SteerArgs) -> Result<PolicySpec, String> {
    match (&args.rule, args.period) {
        (RuleArg::Named(policy), None) => Ok(policy.clone()),
        (RuleArg::Named(policy), Some(_)) => Err(format!(
            "steer by {policy} with --period: that is for formulas; say the rule's own, as in min:70%,10ms"
        )),
        (RuleArg::Formula(formula), period) => {
            PolicySpec::of_formula(formula.clone(), period.unwrap_or(PERIOD))
                .map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::poll;
    use crate::args::{PollCommand, SweepArgs};

    fn sim(words: &str) -> SimArgs {
        match poll(&format!("sim {words}")) {
            PollCommand::Sim(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn sweep(words: &str) -> SweepArgs {
        match poll(&format!("sweep {words}")) {
            PollCommand::Sweep(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn steered(words: &str) -> Result<String, String> {
        match poll(&format!("steer nvme0n1 {words}")) {
            PollCommand::Steer(args) => steer_policy(&args).map(|policy| policy.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sweep_is_as_long_as_a_simulation() {
        let of_sim = |words: &str| timing(&sim(&format!("t --policy pas {words}")).timing);
        let of_sweep = |words: &str| timing(&sweep(&format!("t {words}")).timing);
        assert_eq!(of_sweep(""), of_sim(""));
        let named = of_sim("--measure 10ms --warm-up 1ms --seed 9");
        assert_eq!(of_sweep("--measure 10ms --warm-up 1ms --seed 9"), named);
        let ms = Nanos::from_millis;
        assert_eq!(
            (named.measure, named.warm_up, named.seed),
            (Some(ms(10)), ms(1), 9)
        );
    }

    #[test]
    fn own_rules_come_after_named_ones() {
        let rules = sim_policies(&sim("t --rule 0.7*min --policy pas --policy mean")).unwrap();
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3);
        assert!(
            names[0].starts_with("pas") && names[1].starts_with("mean"),
            "{names:?}"
        );
    }

    #[test]
    fn a_steered_formula_has_a_period_and_a_named_rule_its_own() {
        assert_eq!(
            steered("--rule min:70%,10ms").unwrap(),
            "min:ratio=70%,period=10ms"
        );
        let ten = steered("--rule 0.7*min").unwrap();
        assert!(ten.contains("10ms"), "{ten}");
        let five = steered("--rule 0.7*min --period 5ms").unwrap();
        assert!(five.contains("5ms"), "{five}");
        let refused = steered("--rule min:70%,10ms --period 5ms").unwrap_err();
        assert!(refused.contains("--period"), "{refused}");
    }
}

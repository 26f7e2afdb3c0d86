//! Arguments of `q2c poll steer`.

use super::watch::seconds;
use clap::Args;
use q2c_model::Nanos;
use q2c_policy::{Formula, PolicySpec, SpecError, find};
use q2c_workbench::settings::period;
use std::path::PathBuf;
use std::str::FromStr;

/// Which device by which rule.
#[derive(Clone, Debug, Args)]
pub struct SteerArgs {
    /// Device such as /dev/nvme0n1
    pub device: String,
    /// Sleep rule: min, mean, quantile or fixed, such as min:70%,10ms; or a formula over the last
    /// window's statistics, such as '0.7 * min'
    #[arg(long, visible_alias = "policy", value_name = "RULE")]
    pub rule: RuleArg,
    /// Shortest length of the windows of a formula [default: 10ms]; a named rule has its own
    #[arg(long, value_name = "DURATION", value_parser = period)]
    pub period: Option<Nanos>,
    /// End by itself after this time [default: at a signal]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Write every completion and every value written to this file, a line each
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root, else the user's
    /// state folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A rule as it is typed: a named rule, or a formula.
#[derive(Clone, Debug)]
pub enum RuleArg {
    /// A rule by its name, such as `min:70%,10ms`.
    Named(PolicySpec),
    /// A formula, such as `0.7 * min`.
    Formula(Formula),
}

impl FromStr for RuleArg {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.strip_prefix("hybrid:").unwrap_or(text);
        // `min` alone is also a formula; it is taken as the rule of that name.
        match text.split(':').next() {
            Some(name) if find(name.trim()).is_some() => text.parse().map(RuleArg::Named),
            _ => text.parse().map(RuleArg::Formula),
        }
    }
}

/// Length of a formula's windows in `q2c poll steer` without `--period`.
const PERIOD: Nanos = Nanos::from_millis(10);

impl SteerArgs {
    /// The rule as a policy, with its parameters. The error says that the formula
    /// does not fit its period, or that a named rule was given another one.
    pub fn policy(&self) -> Result<PolicySpec, String> {
        match (&self.rule, self.period) {
            (RuleArg::Named(policy), None) => Ok(policy.clone()),
            (RuleArg::Named(policy), Some(_)) => Err(format!(
                "steer by {policy} with --period: that is for formulas; say the rule's own, as in min:70%,10ms"
            )),
            (RuleArg::Formula(formula), period) => {
                let policy = PolicySpec::of_formula(formula.clone(), period.unwrap_or(PERIOD));
                policy.map_err(|error| error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::PollCommand;
    use crate::args::tests::poll;

    fn steered(words: &str) -> Result<String, String> {
        match poll(&format!("steer nvme0n1 {words}")) {
            PollCommand::Steer(args) => args.policy().map(|policy| policy.to_string()),
            other => panic!("{other:?}"),
        }
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

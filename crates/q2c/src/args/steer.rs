//! Arguments of `q2c poll steer`.

use super::rule::period;
use super::watch::seconds;
use clap::Args;
use q2c_model::Nanos;
use q2c_policy::{Formula, PolicySpec, SpecError, find};
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
    /// End by itself after so many seconds [default: at a signal]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
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

/// Length of a formula's windows without `--period`.
const PERIOD: Nanos = Nanos::from_millis(10);

impl SteerArgs {
    /// The rule as a policy, with its parameters.
    ///
    /// # Errors
    /// The formula does not fit its period, or a named rule is given another one.
    pub fn policy(&self) -> Result<PolicySpec, String> {
        match (&self.rule, self.period) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rule: &str, period: Option<Nanos>) -> Result<String, String> {
        let args = SteerArgs {
            device: "nvme0n1".to_owned(),
            rule: rule.parse().expect("a rule"),
            period,
            seconds: None,
            log: None,
            journal: None,
            json: false,
        };
        args.policy().map(|policy| policy.to_string())
    }

    #[test]
    fn a_formula_has_a_period_and_a_named_rule_its_own() {
        let five = Some(Nanos::from_millis(5));
        assert_eq!(
            policy("min:70%,10ms", None).unwrap(),
            "min:ratio=70%,period=10ms"
        );
        let of = |period| policy("0.7 * min", period).unwrap();
        assert!(of(None).contains("10ms"), "{}", of(None));
        assert!(of(five).contains("5ms"), "{}", of(five));
        let refused = policy("min:70%,10ms", five).unwrap_err();
        assert!(refused.contains("--period"), "{refused}");
    }
}

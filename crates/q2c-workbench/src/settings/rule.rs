//! Arguments for sleep rules that the user writes as formulas.

use clap::Args;
use q2c_model::{Nanos, parse_duration};
use q2c_policy::{Formula, PolicySpec, SpecError};

/// Formulas and their windows.
#[derive(Clone, Debug, Default, Args)]
pub struct RuleArgs {
    /// Own sleep rule: a formula over the count, mean, min, max, last, p01 to p99, lmd and misses
    /// of the last window (--period) or the last I/Os (--ios), such as '0.7 * min' or
    /// 'if(p01 > 40us, p01 - 4us, 0)' (may be given again)
    #[arg(long, value_name = "FORMULA")]
    pub rule: Vec<Formula>,
    /// Shortest length of the windows of --rule, which are stretches of time
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10ms",
        value_parser = period,
        requires = "rule"
    )]
    pub period: Nanos,
    /// The windows of --rule are the last N I/Os of a thread instead, such as 8; the sleep is
    /// worked out anew after each
    #[arg(
        long,
        value_name = "N",
        requires = "rule",
        conflicts_with = "period",
        value_parser = ios
    )]
    pub ios: Option<u32>,
}

/// Parses a period, and refuses one that windows cannot have.
pub fn period(text: &str) -> Result<Nanos, String> {
    let period = parse_duration(text).map_err(|e| e.to_string())?;
    let any: PolicySpec = "rule:min".parse().expect("the rule of a statistic");
    let fits = any.with("period", period.0 as f64);
    fits.map(|_| period).map_err(|error| error.reason)
}

/// Parses a number of I/Os, and refuses one that windows cannot have.
fn ios(text: &str) -> Result<u32, String> {
    let ios = text.parse::<u32>().map_err(|e| e.to_string())?;
    let min: Formula = "min".parse().expect("a formula");
    let fits = PolicySpec::of_last_ios(min, ios);
    fits.map(|_| ios).map_err(|error| error.reason)
}

impl RuleArgs {
    /// The formulas as policies, in the order in which they were given.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, SpecError> {
        let policy = |formula: &Formula| match self.ios {
            Some(ios) => PolicySpec::of_last_ios(formula.clone(), ios),
            None => PolicySpec::of_formula(formula.clone(), self.period),
        };
        self.rule.iter().map(policy).collect()
    }
}

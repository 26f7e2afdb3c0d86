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

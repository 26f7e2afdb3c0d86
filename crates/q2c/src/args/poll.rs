//! `q2c poll`.

use super::{RuleArgs, WatchArgs};
use clap::{Args, Subcommand};
use q2c_model::{Bytes, Nanos, parse_duration, parse_size};
use q2c_policy::PolicySpec;
use std::path::PathBuf;

/// Hybrid polling: simulated, or watched at work.
#[derive(Clone, Debug, Args)]
pub struct PollArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PollCommand,
}

/// The commands of `q2c poll`.
#[derive(Clone, Debug, Subcommand)]
pub enum PollCommand {
    /// Simulate sleep rules on a trace, beside classic polling and the oracle
    #[command(after_help = rules())]
    Sim(SimArgs),
    /// Watch a workload while it runs; its method, ratio and background are changed by key
    #[command(after_help = rules())]
    Watch(WatchArgs),
}

/// Which rules on which trace, at which costs.
#[derive(Clone, Debug, Args)]
pub struct SimArgs {
    /// Trace of classic polling: a run's trace-BS.parquet, or an imported one
    pub trace: PathBuf,
    /// Sleep rule, such as mean or min:70%,10ms (may be given again)
    #[arg(long, required_unless_present = "rule", value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// Costs from this calibration: calibration.json of a run, or what `q2c calibrate --json` prints
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
    /// Block size whose calibration is used [default: the trace's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "cost")]
    pub bs: Option<Bytes>,
    /// Without --cost: every sleep ends this much late, and nothing else costs
    #[arg(long, value_name = "DURATION", default_value = "2us", value_parser = parse_duration, conflicts_with = "cost")]
    pub wake_delay: Nanos,
    /// Simulated time before anything counts
    #[arg(long, value_name = "DURATION", default_value = "400ms", value_parser = parse_duration)]
    pub warm_up: Nanos,
    /// Simulated time that counts; the trace is repeated as long [default: the trace's length, at least 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub measure: Option<Nanos>,
    /// Seed of the drawn wake-up delays
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

fn rules() -> String {
    format!("Sleep rules:\n{}", q2c_policy::help())
}

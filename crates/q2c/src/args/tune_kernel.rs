//! Arguments of `q2c poll tune-kernel`.

use clap::Args;
use q2c_model::{Nanos, parse_time};
use q2c_policy::PolicySpec;

use q2c_tune_kernel::TuneKernelSpec;
use q2c_workbench::settings::{GoalArgs, RuleArgs};
use std::ffi::OsString;
use std::path::PathBuf;

/// Which device under which load, which rules, and for how long.
#[derive(Clone, Debug, Args)]
pub struct TuneKernelArgs {
    /// Device such as /dev/nvme0n1
    pub device: String,
    /// Simulate this rule instead of the standard grid: min, mean, quantile or fixed, such as
    /// min:70%,10ms (may be given again)
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// What is best; latencies are from the hand-over to the driver to the completion.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Record latencies for so long
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_time)]
    pub record: Nanos,
    /// Measure each calibrated sleep, and the polling beside it, for so long
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_time)]
    pub calibrate: Nanos,
    /// Length of a trial
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_time)]
    pub trial: Nanos,
    /// Trials of each method
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Wait so long for the first polled requests
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_time)]
    pub patience: Nanos,
    /// Seed of the draws and of the order of the trials
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root, else the user's
    /// state folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Where the run folder is made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// A command that polls the device; it is ended by SIGTERM at the end [default: whatever polls
    /// it already]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl TuneKernelArgs {
    /// The plan, with these rules.
    pub fn spec(&self, own: Vec<PolicySpec>) -> TuneKernelSpec {
        TuneKernelSpec {
            patience: self.patience,
            record: self.record,
            calibrate: self.calibrate,
            trial: self.trial,
            trials: self.trials,
            policies: [self.policy.clone(), own].concat(),
            objective: self.goal.objective,
            limits: self.goal.limits(),
            seed: self.seed,
        }
    }
}

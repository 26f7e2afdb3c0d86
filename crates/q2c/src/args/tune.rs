//! Arguments of `q2c tune`.

use super::time::seconds_within;
use super::{Counts, GoalArgs, LimitArgs, RuleArgs, WorkloadArgs};
use clap::Args;
use q2c_model::{Nanos, parse_time};
use q2c_policy::PolicySpec;
use q2c_tune::SECONDS;
use std::path::PathBuf;

/// Find the best way to wait for I/O.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// Numbers of foreground threads, depth 1 each: 1,2,4 or 1..4; several are tuned one after
    /// another, and the answer is told over them
    #[arg(short = 'j', long, value_name = "LIST", default_value = "1")]
    pub jobs: Counts,
    /// Also try this rule: simulated, may be chosen, run live, such as pas or qt:miss=2% (may be
    /// given again)
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules: simulated, may be chosen, run live.
    #[command(flatten)]
    pub own: RuleArgs,
    /// Try the rules of --policy and --rule even when they take long
    #[arg(long)]
    pub yes: bool,
    /// Measured part of each trial
    #[arg(short = 's', long, value_name = "DURATION", default_value = "1s", value_parser = seconds)]
    pub seconds: f64,
    /// Trials that an answer stands on; what has lost gets fewer, and a block size on average at
    /// most six times as many in all
    #[arg(short = 't', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Time for all trials, such as 90s: they end when it is spent, but for the first round;
    /// several numbers of jobs get equal shares of it
    #[arg(long, value_name = "DURATION", value_parser = parse_time)]
    pub budget: Option<Nanos>,
    /// What the run must keep.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Go on with this interrupted run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "scratch"])]
    pub resume: Option<PathBuf>,
    /// Calibrate anew even when a stored calibration fits
    #[arg(long)]
    pub recalibrate: bool,
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, SECONDS)
}

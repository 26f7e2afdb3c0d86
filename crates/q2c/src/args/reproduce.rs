//! Arguments of `q2c reproduce`.

use super::{JobsArg, WorkloadArgs};
use clap::Args;

/// Run a published experiment here and print its figures beside the published ones.
#[derive(Clone, Debug, Args)]
pub struct ReproduceArgs {
    /// The experiment: miss-rate-interference, or a file like those in experiments/
    pub name: String,
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// Number of jobs.
    #[command(flatten)]
    pub jobs: JobsArg,
    /// Length of a phase, seconds, after its settling
    #[arg(long, default_value_t = 20.0, value_parser = super::tune::seconds)]
    pub seconds: f64,
    /// Trials of the whole experiment
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
}

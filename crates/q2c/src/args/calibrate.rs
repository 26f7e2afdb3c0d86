//! Arguments of `q2c calibrate`.

use super::{JobsArg, MachineArgs, WorkloadArgs};
use clap::Args;

/// Measure what sleeping, waking, polling and interrupts cost here.
#[derive(Clone, Debug, Args)]
pub struct CalibrateArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// The machine of a simulated target.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Number of jobs.
    #[command(flatten)]
    pub jobs: JobsArg,
}

//! Arguments of `q2c calibrate`.

use clap::Args;
use q2c_workbench::settings::{JobsArg, MachineArgs, WorkloadArgs};

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

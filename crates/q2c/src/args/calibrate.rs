//! Arguments of `q2c calibrate`.

use super::WorkloadArgs;
use clap::Args;

/// Measure what sleeping, waking, polling and interrupts cost here.
#[derive(Clone, Debug, Args)]
pub struct CalibrateArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
}

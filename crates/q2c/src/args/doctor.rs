//! Arguments of `q2c doctor`.

use clap::Args;
use std::path::PathBuf;

/// List what this machine can and cannot do.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Also look at this file or block device
    pub target: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

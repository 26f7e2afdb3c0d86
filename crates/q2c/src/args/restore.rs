//! Arguments of `q2c restore`.

use clap::Args;
use std::path::PathBuf;

/// Put back settings that `doctor --fix` or a killed run left changed.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Only list them
    #[arg(long)]
    pub dry_run: bool,
    /// Folder of the journals [default: /var/lib/q2c/restore for root, else the user's state
    /// folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
}

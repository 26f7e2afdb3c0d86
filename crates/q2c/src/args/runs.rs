//! Arguments of `q2c runs`.

use clap::Args;
use std::path::PathBuf;

/// List runs, the latest first.
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// Folder of the runs
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

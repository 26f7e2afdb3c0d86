//! Arguments of `q2c doctor`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// List what this machine can and cannot do, by use; or change the settings that stand in the way.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Also look at this file or block device
    pub target: Option<PathBuf>,
    /// Change the settings of the machine that were found wanting, with TARGET those of its disk,
    /// too; `q2c restore` puts them back
    #[arg(long)]
    pub fix: bool,
    /// With --fix: only say what would be changed
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// With --fix: change only what these checks found
    #[arg(
        long,
        value_name = "CHECK,...",
        value_delimiter = ',',
        requires = "fix"
    )]
    pub only: Vec<String>,
    /// With --fix: folder of the restore journals [default: /var/lib/q2c/restore for root, else the
    /// user's state folder]
    #[arg(long, value_name = "FOLDER", requires = "fix")]
    pub journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// With --fix: put the settings back when this command has ended; q2c ends with its exit code
    #[arg(
        last = true,
        value_name = "COMMAND",
        requires = "fix",
        conflicts_with_all = ["dry_run", "json"]
    )]
    pub command: Vec<OsString>,
}

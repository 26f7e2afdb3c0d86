//! Arguments of `q2c fs`.

use clap::{Args, Subcommand};
use q2c_fs::FsSettings;

/// File systems under jobs that share their files.
#[derive(Clone, Debug, Args)]
pub struct FsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FsCommand,
}

/// The commands of `q2c fs`.
#[derive(Clone, Debug, Subcommand)]
pub enum FsCommand {
    /// Make file systems, and measure jobs that share their files or have files of their own
    Bench(FsSettings),
}

//! Arguments of `q2c experiment`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Experiment files.
#[derive(Clone, Debug, Args)]
pub struct ExperimentArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ExperimentCommand,
}

/// The commands of `q2c experiment`.
#[derive(Clone, Debug, Subcommand)]
pub enum ExperimentCommand {
    /// Check a file, and name what is wrong in it by line
    Check {
        /// The file
        file: PathBuf,
    },
}

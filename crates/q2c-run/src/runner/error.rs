//! What can stop the runner itself.

use crate::run_dir::RunDirError;

/// The runner could not go on; reads well after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run folder failed.
    #[error(transparent)]
    Folder(#[from] RunDirError),
    /// Settings that make no sense.
    #[error("run the plan: {0}")]
    Settings(String),
    /// A plan that breaks the contract.
    #[error("run the plan: {0}")]
    Plan(String),
    /// The journal is of another plan.
    #[error("resume: cell \"{key}\" in the journal {reason}; resume with the plan.toml of the run")]
    OtherPlan {
        /// The cell's key.
        key: String,
        /// What does not fit.
        reason: String,
    },
    /// An outcome that would be lost on resume.
    #[error("record trial {trial} of {key}: its outcome does not survive JSON ({reason})")]
    Unreadable {
        /// The cell's key.
        key: String,
        /// The trial, from 0.
        trial: u32,
        /// What the decoder says.
        reason: String,
    },
}

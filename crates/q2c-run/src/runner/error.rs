//! The errors that stop the runner itself.

use crate::run_dir::RunDirError;
use q2c_result::Exit;

/// The runner could not go on. The text continues a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A step on the run folder failed.
    #[error(transparent)]
    Folder(#[from] RunDirError),
    /// The settings contradict themselves or are out of range.
    #[error("run the plan: {0}")]
    Settings(String),
    /// The plan breaks the runner's contract.
    #[error("run the plan: {0}")]
    Plan(String),
    /// The journal is of a plan with other cells.
    #[error("resume: cell \"{key}\" in the journal {reason}; resume with the plan.toml of the run")]
    OtherPlan {
        /// Key of the journaled cell.
        key: String,
        /// How the journaled cell differs from the plan.
        reason: String,
    },
    /// The journal has a figure that no trial has.
    #[error(
        "resume: trial {trial} of {key} in the journal has {found} {what}, which no trial has; take its line out of cells.jsonl, and it runs again"
    )]
    Figure {
        /// Key of the cell.
        key: String,
        /// Number of the trial, from 0.
        trial: u32,
        /// The figure.
        what: &'static str,
        /// Its value.
        found: f64,
    },
    /// An outcome cannot be read back from its JSON, so a resume would lose it.
    #[error("record trial {trial} of {key}: its outcome does not survive JSON ({reason})")]
    Unreadable {
        /// Key of the cell.
        key: String,
        /// Number of the trial, from 0.
        trial: u32,
        /// The error of the decoder.
        reason: String,
    },
}

impl RunError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            RunError::Folder(error) => error.exit(),
            RunError::OtherPlan { .. } | RunError::Figure { .. } => Exit::Input,
            _ => Exit::Device,
        }
    }
}

//! Why nothing can be simulated.

use q2c_result::Exit;

/// Why nothing can be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// A file of speeds is not TOML, or has other keys.
    #[error("{0}")]
    Syntax(String),
    /// A speed is out of its range.
    #[error("expected {key} from {least} to {most}, found {found}")]
    Speed {
        /// The key.
        key: &'static str,
        /// The least that is taken.
        least: f64,
        /// The most that is taken.
        most: f64,
        /// What the file says.
        found: f64,
    },
    /// There is no C task, whose run time is the answer.
    #[error(
        "simulate placements: expected one computing task or more, found none; their run time is what placements are compared by"
    )]
    NoCompute,
    /// A C task did not reach its end.
    #[error(
        "simulate placements: a computing task did not end within {most_s} simulated seconds under {policy}; use fewer tasks or --work below {work_s} s"
    )]
    NoEnd {
        /// The longest time.
        most_s: f64,
        /// The policy.
        policy: String,
        /// Work of each C task.
        work_s: f64,
    },
}

impl PlaceError {
    /// The exit code of a command that ends by this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            PlaceError::Syntax(_) | PlaceError::Speed { .. } => Exit::Input,
            PlaceError::NoCompute | PlaceError::NoEnd { .. } => Exit::Usage,
        }
    }
}

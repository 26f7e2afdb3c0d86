//! Why nothing can be predicted.

use q2c_result::Exit;

/// Why nothing can be predicted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The run was measured on a machine without enough cores.
    #[error(
        "predict from {run}: expected a run on at least {least} physical cores, found {found}: so few show no contention; run q2c bench --stages on a larger machine, or name the parameters with --parameters FILE"
    )]
    FewCores {
        /// The run.
        run: String,
        /// Cores that are needed.
        least: u32,
        /// Cores that there are.
        found: u32,
    },
    /// No curve of the run can be predicted from.
    #[error(
        "predict from {run}: expected a curve with stages at {least} numbers of jobs or more, one core for each job, found {found}; run q2c bench --jobs 1..8 --stages"
    )]
    NoCurve {
        /// The run.
        run: String,
        /// Numbers of jobs that are needed.
        least: usize,
        /// The best curve in words.
        found: String,
    },
    /// Several curves can be predicted from.
    #[error(
        "predict from {run}: expected one curve, found {found}; choose by --engine, --method, --depth, --bs or --rw"
    )]
    Several {
        /// The run.
        run: String,
        /// The curves.
        found: String,
    },
    /// A file of parameters is not TOML, or has other keys.
    #[error("{0}")]
    Syntax(String),
    /// A parameter is out of its range.
    #[error("expected {key} {expected}, found {found}")]
    Value {
        /// The parameter.
        key: &'static str,
        /// Its range in words.
        expected: String,
        /// What the file says.
        found: String,
    },
}

impl ScaleError {
    /// The exit code of a command that ends by this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            ScaleError::FewCores { .. } => Exit::Environment,
            ScaleError::Several { .. } => Exit::Usage,
            ScaleError::NoCurve { .. } | ScaleError::Syntax(_) | ScaleError::Value { .. } => {
                Exit::Input
            }
        }
    }
}

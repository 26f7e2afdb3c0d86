//! Errors of a benchmark of file systems. Their texts read well after "failed to".

use q2c_host::target::TargetError;
use q2c_result::Exit;
use q2c_result::fs::FileSystem;
use q2c_run::runner::RunError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a benchmark of file systems could not begin or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FsError {
    /// What was asked for contradicts itself.
    #[error("{0}")]
    Wrong(String),
    /// A program that makes file systems is not installed.
    #[error(
        "make {fs}: the program {program} is not installed; it is in Debian's package {package}"
    )]
    Program {
        /// The file system.
        fs: FileSystem,
        /// The program that was looked for.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// A program that makes file systems refused.
    #[error("make {fs} on {}: {program} ended with {status}: {said}", device.display())]
    Refused {
        /// The file system.
        fs: FileSystem,
        /// The device.
        device: PathBuf,
        /// The program.
        program: PathBuf,
        /// Its exit status.
        status: String,
        /// The last line that it printed.
        said: String,
    },
    /// The kernel has no such file system.
    #[error("mount {fs}: this kernel has no {fs}, built in or as a module")]
    NoFileSystem {
        /// The file system.
        fs: FileSystem,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    Call {
        /// What was tried, on what.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The device may not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The run's folder failed, or the plan is wrong.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No file system is left to measure.
    #[error("find a file system to measure: {0}")]
    Nothing(String),
}

impl FsError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            FsError::Wrong(_) => Exit::Usage,
            FsError::Target(error) => error.exit(),
            FsError::Run(error) => error.exit(),
            _ => Exit::Environment,
        }
    }

    pub(crate) fn call(what: impl Into<String>) -> impl FnOnce(io::Error) -> FsError {
        let what = what.into();
        move |source| FsError::Call { what, source }
    }
}

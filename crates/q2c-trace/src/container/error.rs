use q2c_model::{Exit, Fault};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

pub(super) type Result<T, E = TraceError> = std::result::Result<T, E>;

/// A trace that could not be written or read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TraceError {
    #[error("{doing} {}: {source}{}", path.display(), advice(source))]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{doing} {}: stopped by a signal", path.display())]
    Stopped { doing: &'static str, path: PathBuf },
    #[error(
        "start a thread for {}: {source}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)",
        path.display()
    )]
    Thread { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Other(#[from] Fault),
}

/// The error for a trace whose content cannot be used.
pub(super) fn input_error(message: impl Display) -> TraceError {
    Fault::input(message).into()
}

pub(crate) fn exists_error(path: &Path) -> TraceError {
    let path = path.display();
    let message = format!(
        "create trace {path}: expected a new name, found an existing file; remove it or name another"
    );
    Fault::usage(message).into()
}

/// The error for a full disk or quota. No partly written file is left.
pub(super) fn disk_full(doing: &str, path: &Path) -> TraceError {
    let path = path.display();
    let message =
        format!("{doing} {path}: no space left on its disk; free some space and try again");
    Fault::new(Exit::Device, message).into()
}

impl TraceError {
    /// Makes the error of the system into one of a trace. `doing` and `path` say what failed.
    pub fn io(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> TraceError + use<> {
        let path = path.to_owned();
        move |source| TraceError::Io {
            doing,
            path: path.clone(),
            source,
        }
    }

    /// Returns an error if `stop` is set. `doing` and `path` name the work that ends.
    ///
    /// # Errors
    /// `stop` is set.
    pub fn unless_stopped(stop: &AtomicBool, doing: &'static str, path: &Path) -> Result<(), Self> {
        if stop.load(Ordering::Relaxed) {
            let path = path.to_owned();
            return Err(TraceError::Stopped { doing, path });
        }
        Ok(())
    }

    /// The fault of a trace that cannot be read: an input error, unless the machine is the cause.
    #[must_use]
    pub fn into_read_fault(self) -> Fault {
        let concerns_trace = matches!(&self, TraceError::Io { .. } | TraceError::Other(_));
        let fault = Fault::from(self);
        if concerns_trace && !Exit::is_limit(&fault) {
            fault.with_exit(Exit::Input)
        } else {
            fault
        }
    }
}

/// The fault of a trace that cannot be written, or whose content cannot be used. For a trace that
/// is only read, use [`TraceError::into_read_fault`].
impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Fault {
        let exit = match &error {
            error if Exit::is_limit(error) => Exit::Environment,
            TraceError::Stopped { .. } => Exit::Interrupted,
            TraceError::Thread { .. } => Exit::Environment,
            TraceError::Io { .. } => Exit::Device,
            TraceError::Other(fault) => fault.exit(),
        };
        match error {
            TraceError::Other(fault) => fault.with_exit(exit),
            error => Fault::from_error(exit, error),
        }
    }
}

/// The advice at the end of the message of a system error on a recording; empty if there is none.
pub(crate) fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; name a q2c trace or a recording of another tool",
        io::ErrorKind::IsADirectory => "; name a file in it",
        io::ErrorKind::PermissionDenied => "; run q2c as a user who may use it",
        _ => "",
    }
}

//! The threads on which sweeps run.

use rayon::ThreadPoolBuilder;
use std::error::Error as _;
use std::sync::OnceLock;
use thiserror::Error;

/// The machine gave no threads to simulate on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "start the threads that simulate, one for each CPU: {0}; end other programs, raise the limit of tasks (ulimit -u, \
     pids.max), or ask for fewer threads by RAYON_NUM_THREADS"
)]
pub struct ThreadsError(String);

/// Starts the threads, which all simulations of the process share. Without this call the first
/// sweep starts them, and panics where the machine gives none.
///
/// # Errors
/// The machine gives none.
pub fn start_threads() -> Result<(), ThreadsError> {
    static STARTED: OnceLock<Result<(), ThreadsError>> = OnceLock::new();
    let start = || match ThreadPoolBuilder::new().build_global() {
        // An error of the system has a source. Any other says that the threads are there already.
        Err(error) if error.source().is_some() => Err(ThreadsError(error.to_string())),
        _ => Ok(()),
    };
    STARTED.get_or_init(start).clone()
}

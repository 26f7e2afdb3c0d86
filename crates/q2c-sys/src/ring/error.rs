//! Why a ring could not be made or used.

use std::io;
use thiserror::Error;

/// Ring memory is locked memory where the process has no CAP_IPC_LOCK.
fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::OutOfMemory => "; raise the memlock limit (ulimit -l) or free memory",
        _ => "",
    }
}

/// Why a ring could not be made or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The kernel forbids io_uring.
    #[error(
        "set up io_uring: {0}; it is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it) and the \
         container's seccomp profile"
    )]
    Forbidden(io::Error),
    /// Set-up failed otherwise.
    #[error("set up io_uring with {depth} entries: {source}{}", todo(source))]
    Setup {
        /// Entries asked.
        depth: u32,
        /// Cause.
        source: io::Error,
    },
    /// The kernel refuses the options asked for.
    #[error("set up io_uring with {flags}: {source}; {todo}")]
    Options {
        /// The flags asked for, as the kernel names them.
        flags: &'static str,
        /// Cause.
        source: io::Error,
        /// What they need.
        todo: String,
    },
    /// Buffers could not be pinned.
    #[error(
        "register {bytes} bytes of buffers: {source}; raise the memlock limit (ulimit -l, now {limit}) or use a \
         smaller depth or block size"
    )]
    Memlock {
        /// Bytes asked.
        bytes: usize,
        /// RLIMIT_MEMLOCK in words.
        limit: String,
        /// Cause.
        source: io::Error,
    },
    /// The file could not be registered.
    #[error("register the target with io_uring: {0}")]
    Register(io::Error),
    /// A system call on the ring failed.
    #[error("enter io_uring: {0}")]
    Enter(io::Error),
}

//! The errors of making and using a ring.

use std::io;
use thiserror::Error;

/// The kernel counts ring memory as locked memory unless the process has CAP_IPC_LOCK.
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
    /// The kernel or a seccomp filter forbids io_uring, or the kernel has none.
    #[error(
        "set up io_uring: {0}; it is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it) and the \
         container's seccomp profile"
    )]
    Forbidden(io::Error),
    /// `io_uring_setup` failed for another reason.
    #[error("set up io_uring with {depth} entries: {source}{}", todo(source))]
    Setup {
        /// Entries asked for, without those added for SQPOLL.
        depth: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refuses the options asked for.
    #[error("set up io_uring with {flags}: {source}; {todo}")]
    Options {
        /// The flags asked for, as the kernel names them.
        flags: &'static str,
        /// The kernel's answer.
        source: io::Error,
        /// What these options need: kernel versions, and options that exclude each other.
        todo: String,
    },
    /// Buffers could not be pinned.
    #[error(
        "register {bytes} bytes of buffers: {source}; raise the memlock limit (ulimit -l, now {limit}) or use a \
         smaller depth or block size"
    )]
    Memlock {
        /// Bytes of all buffers together.
        bytes: usize,
        /// RLIMIT_MEMLOCK as text: `64 KiB`, or `unlimited`.
        limit: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The file could not be registered.
    #[error("register the target with io_uring: {0}")]
    Register(io::Error),
    /// A system call on the ring failed.
    #[error("enter io_uring: {0}")]
    Enter(io::Error),
}

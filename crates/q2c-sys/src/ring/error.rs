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
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum RingError {
    /// The kernel or a seccomp filter forbids io_uring, or the kernel has none.
    #[error(
        "set up io_uring: {0}; it is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it) and the \
         container's seccomp profile"
    )]
    Forbidden(io::Error),
    #[error("set up io_uring with {depth} entries: {source}{}", todo(source))]
    Setup {
        /// Entries asked for, without those added for SQPOLL.
        depth: u32,
        source: io::Error,
    },
    #[error("set up io_uring with {flags}: {source}; {todo}")]
    Options {
        flags: &'static str,
        source: io::Error,
        /// What these options need: kernel versions, and options that exclude each other.
        todo: String,
    },
    #[error(
        "register {bytes} bytes of buffers: {source}; raise the memlock limit (ulimit -l, now {limit}) or use a \
         smaller depth or block size"
    )]
    Memlock {
        bytes: usize,
        /// RLIMIT_MEMLOCK as text: `64 KiB`, or `unlimited`.
        limit: String,
        source: io::Error,
    },
    #[error("register the target with io_uring: {0}")]
    Register(io::Error),
    #[error("enter io_uring: {0}")]
    Enter(io::Error),
}

//! All unsafe code of q2c: rings, kernel AIO, NVMe commands, aligned buffers, clocks, sleeping,
//! affinity, ublk, loop devices, mounts.
//!
//! Every public function is safe to call. Each `unsafe` block says why it is sound.

pub mod aio;
pub mod buffer;
pub mod cache;
pub mod clock;
pub mod fiemap;
pub mod loop_device;
pub mod mounts;
pub mod nvme;
pub mod ring;
pub mod signal;
pub mod spill;
pub mod thread;
pub mod ublk;
pub mod vectored;

pub use aio::{Aio, AioError};
pub use buffer::Buffers;
pub use clock::Clock;
pub use ring::{
    CommandRing, CompletionPath, EncodedRing, FileEncoding, NvmeEncoding, Operation, Ring,
    RingCompletion, RingEncoding, RingError, RingOptions, SqPoll, TaskRun, Transfer,
};
pub use vectored::{Vectored, VectoredFlags};

/// The answer of a system call, or the error that the call left where the answer is negative.
fn check(answer: i32) -> std::io::Result<i32> {
    match answer {
        0.. => Ok(answer),
        _ => Err(std::io::Error::last_os_error()),
    }
}

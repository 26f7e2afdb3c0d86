//! Late time: U2C of a thread's I/Os, split by the block layer's view of the same I/Os.
//!
//! An I/O of a lane of depth 1 is joined with the block-layer requests that its thread queued while
//! the I/O was under way. Both views must be on one clock (CLOCK_MONOTONIC). With the first
//! hand-over D, the last completion C, the return E of the submitting call, the wake-up W and the
//! reaping R, the parts are
//!
//! - **submission**: from the start of the submission to D;
//! - **device**: from D to C;
//! - **return**: from C to E where E is later, else 0;
//! - **oversleep**: from the later of C and E to the end of the sleep asked where the thread slept
//!   and W is later, else 0;
//! - **wake-up**: from there to W, where W is later;
//! - **reap**: from the latest of C, E and W to R.
//!
//! Oversleep is what the rule asked for too much. The wake-up is the lateness of the timer, the CPU
//! or the scheduler, for which the rule can do nothing.
//!
//! The return is a part of its own because no sleep has begun by then: in a virtual machine the
//! call can last longer than the device needs, with polling as well as with a sleep. To count it as
//! oversleep would blame a rule for it that asked for no sleep at all.
//!
//! They add up to U2C exactly. Nothing is clamped: an I/O with a part that would be negative is not
//! matched, and is counted by its reason in [`q2c_result::late::Unmatched`].
//!
//! A *miss* is what the thread says: its first poll after the wake-up found the completion. The
//! block layer's C comes before the completion can be seen by a poll, so a thread may wake between
//! the two. The I/O is no miss then, although its thread was a little late; and an I/O that
//! completed between W and the first poll is a miss that was not late. Both are counted.

mod requests;
mod tally;

pub use requests::{DeviceRequest, JoinedIo, Mismatch, Requests, Sleep, UserIo};
pub use tally::{LateSums, LateTally};

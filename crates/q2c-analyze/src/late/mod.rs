//! Late time: U2C of a thread's I/Os, split by the block layer's view of the same I/Os.
//!
//! An I/O of a lane of depth 1 is joined with the block-layer requests that its thread queued while
//! the I/O was under way. Both views must use one clock (CLOCK_MONOTONIC). D is the first
//! hand-over, C the last completion, E the return of the submitting call, W the wake-up, R the
//! reaping. The parts are
//!
//! - **submission**: from the start of the submission to D;
//! - **device**: from D to C;
//! - **return**: from C to E if E is later, else 0;
//! - **oversleep**: from the later of C and E to the end of the sleep asked, if W is later than
//!   that; else 0;
//! - **wake-up**: from the end of the oversleep to W, if W is later; else 0;
//! - **reap**: from the latest of C, E and W to R.
//!
//! Oversleep is the excess of the sleep that the rule asked for. The wake-up is the delay by the
//! timer, the CPU or the scheduler, which the rule cannot change.
//!
//! The return is a separate part because no sleep has begun by then. In a virtual machine the call
//! can outlast the device, with and without a sleep. To count it as oversleep would blame rules
//! that asked for no sleep.
//!
//! The parts add up to U2C exactly. Nothing is clamped: an I/O with a negative part is not joined,
//! and [`q2c_result::late::Unmatched`] counts it by its reason.
//!
//! The thread decides what a *miss* is: its first poll after the wake-up found the completion. A
//! poll can see a completion only some time after C. A thread that wakes in between was a little
//! late, but has no miss. An I/O that completes between W and the first poll is a miss that was not
//! late. Both are counted.

mod requests;
mod tally;

pub use requests::{DeviceRequest, JoinedIo, Mismatch, Requests, Sleep, UserIo};
pub use tally::{LateSums, LateTally};

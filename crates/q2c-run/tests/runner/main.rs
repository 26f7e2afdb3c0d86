//! Tests of the runner with a plan and a clock that the tests control.
#![expect(
    clippy::unwrap_used,
    reason = "a failed step of a test is a failed test"
)]

mod failure;
mod fake;
mod fault_seeds;
mod order;
mod resume;
mod time;

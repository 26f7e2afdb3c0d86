//! Tests on made trees and, where they say so, on this machine.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod block;
mod doctor;
mod loop_device;
mod machine;
mod occupied;
mod restore;
mod target;
mod tree;

/// Leaves the rest of a test out, said aloud; with `Q2C_NO_SKIP` set that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skip(reason: &str) {
    assert!(
        std::env::var_os("Q2C_NO_SKIP").is_none(),
        "may not be skipped: {reason}"
    );
    eprintln!("skipped: {reason}");
}

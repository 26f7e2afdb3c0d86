//! Tests on fake trees and, where they say so, on this machine.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod block;
mod character_device;
mod doctor;
mod loop_device;
mod machine;
mod occupied;
mod restore;
mod target;
mod tasks;
mod topology;
mod tree;

use q2c_host::Roots;

/// Reports that the remainder of a test is left out, and counts it as a skip.
fn skip(reason: &str) {
    q2c_testkit::skip("host", reason);
}

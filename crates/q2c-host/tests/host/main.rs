//! Tests on made trees and, where they say so, on this machine.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod block;
mod loop_device;
mod machine;
mod occupied;
mod restore;
mod target;
mod tree;

//! The unsafe crate: system calls that no safe crate offers, each behind a safe function.

pub mod fiemap;
pub mod signal;

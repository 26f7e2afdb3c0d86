//! The rules against a second implementation of each: plain, slow, from the rules' published descriptions, sharing
//! nothing with the crate. Both are driven closed loop, so the I/O a rule delays is the I/O it learns from.

mod agree;
mod closed_loop;
mod epochs;
mod latencies;
mod pas;
mod published;
mod uring;

//! The rules against a second implementation of each: plain, slow, from the rules' published descriptions, sharing
//! nothing with the crate. Both are driven closed loop, so the I/O a rule delays is the I/O it learns from.

mod agree;
mod by_hand;
mod closed_loop;
mod dpas;
mod epochs;
mod latencies;
mod linux410;
mod pas;
mod published;
mod seconds;
mod seeded;
mod smooth;
mod statistics;
mod uring;

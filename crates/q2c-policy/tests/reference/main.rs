//! Compares each rule with a second implementation that is plain and slow, written from the rule's
//! published description, and shares no code with the crate. Both are driven in a closed loop, so
//! the I/O that a rule delays is the I/O that it learns from.

mod agree;
mod by_hand;
mod closed_loop;
mod dpas;
mod epochs;
mod latencies;
mod linux410;
mod pas;
mod published;
mod recent;
mod seconds;
mod seeded;
mod smooth;
mod statistics;
mod uring;

//! Tests of faults and bad input at the command line. Each ends with one clear error and the
//! documented exit code, leaves nothing half written, and leaves the machine as it was.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod bench;
mod benchmark;
mod ends;
mod environment;
mod first_sectors;
mod interfaces;
mod over_jobs;
mod replay;
mod running;
mod signals;
mod targets;
mod usage;
#[path = "../commands/words.rs"]
mod words;
mod writes;

/// Skips with the name of the running test, through `q2c_testkit`.
fn skip(reason: &str) {
    let thread = std::thread::current();
    q2c_testkit::skip(thread.name().unwrap_or("a test"), reason);
}

//! Faults and bad input at the command line: one clear error, the documented exit code, nothing half-written, the
//! machine as found.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]
#![expect(clippy::print_stdout, reason = "a skip says so")]

mod bench;
mod benchmark;
mod environment;
mod first_sectors;
mod interfaces;
mod replay;
mod running;
mod signals;
mod targets;
mod usage;
mod writes;

use std::io::Write;

/// Says why `test` does not run here.
fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    print!("{line}");
    if let Some(path) = std::env::var_os("Q2C_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        log.write_all(line.as_bytes()).unwrap();
    }
}

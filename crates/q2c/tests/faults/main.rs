//! Tests of faults and bad input at the command line. Each ends with one clear error and the
//! documented exit code, leaves nothing half written, and leaves the machine as it was.
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

/// Prints why `test` does not run here, and counts the skip in the file that `Q2C_SKIP_LOG` names.
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

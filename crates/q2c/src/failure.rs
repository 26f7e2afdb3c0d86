//! The failure of a command: one message for stderr and one exit code.

pub use q2c_model::{Fault as Failure, OrFault as Fails};

use std::process::ExitCode;

/// Prints the message to stderr and returns the exit code of the process.
pub fn report(failure: &Failure) -> ExitCode {
    // A failure is one line, whatever names it has in it.
    let message = failure.message().replace('\n', "\\n");
    crate::output::say(&format!("q2c: failed to {message}"));
    ExitCode::from(failure.exit().code())
}

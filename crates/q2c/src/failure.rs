//! The end of a command that failed: a message on stderr and an exit code.

use q2c_model::Fault;
use std::process::ExitCode;

/// Prints the message to stderr and returns the exit code of the process.
pub fn report(fault: &Fault) -> ExitCode {
    // A failure is one line, whatever names it has in it.
    let message = fault.message().replace('\n', "\\n");
    crate::output::say(&format!("q2c: failed to {message}"));
    ExitCode::from(fault.exit().code())
}

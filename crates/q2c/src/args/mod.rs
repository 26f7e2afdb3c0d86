//! What can be typed.

mod calibrate;
mod common;
mod doctor;
mod poll;
mod report;
mod reproduce;
mod restore;
mod trace;
mod tune;

pub use calibrate::CalibrateArgs;
pub use common::WorkloadArgs;
pub use doctor::DoctorArgs;
pub use poll::{PollArgs, PollCommand, SimArgs};
pub use report::ReportArgs;
pub use reproduce::ReproduceArgs;
pub use restore::RestoreArgs;
pub use trace::{ImportArgs, InfoArgs, TraceArgs, TraceCommand};
pub use tune::TuneArgs;

use clap::{Parser, Subcommand};
use q2c_result::Exit;
use std::process::ExitCode;

/// A laboratory for the life of a block I/O, from Q (queued) to C (complete).
#[derive(Debug, Parser)]
#[command(name = "q2c", version, after_help = exit_codes())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the best way to wait for I/O on a device: calibrate, record, simulate, verify live, report
    Tune(TuneArgs),
    /// Measure what sleeping, waking, polling and interrupts cost here
    Calibrate(CalibrateArgs),
    /// Simulate sleep rules on a trace; needs neither device nor root
    Poll(PollArgs),
    /// Bring recordings of other tools in, and look into traces
    Trace(TraceArgs),
    /// Draw tables and the HTML report again from a result
    Report(ReportArgs),
    /// List what this machine can and cannot do, why, and the line that would change it
    Doctor(DoctorArgs),
    /// Run a published experiment here, its figures beside the published ones
    Reproduce(ReproduceArgs),
    /// Put back settings that a killed run left changed
    Restore(RestoreArgs),
}

/// Help and version are results; anything else is wrong usage.
pub fn refused(error: &clap::Error) -> ExitCode {
    // Nothing can be done about a closed stream here.
    error.print().ok();
    ExitCode::from(if error.use_stderr() {
        Exit::Usage.code()
    } else {
        Exit::Done.code()
    })
}

fn exit_codes() -> String {
    let line = |(exit, meaning): &(Exit, &str)| format!("  {:>3}  {meaning}", exit.code());
    let lines: Vec<String> = Exit::TABLE.iter().map(line).collect();
    format!("Exit codes:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}

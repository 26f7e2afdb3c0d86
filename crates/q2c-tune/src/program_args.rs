//! Arguments of `q2c tune` about the program whose I/Os are the workload.

use clap::Args;
use q2c_capture::CapturedBy;
use q2c_model::parse_seconds_in;
use std::ffi::OsString;
use std::path::PathBuf;

/// A recorded program as the workload.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// Tune for the program in this trace, or recording that can be imported: its sizes, reads and
    /// writes and I/Os in flight are the workload, by default on a scratch file of 1g
    #[arg(long, value_name = "TRACE", conflicts_with_all = WORKLOAD)]
    pub from: Option<PathBuf>,
    /// Only the I/Os of processes of this name (may be given again)
    #[arg(long, value_name = "NAME")]
    pub process: Vec<String>,
    /// With a command: the disk that is recorded, as for trace record [default: the target's, else
    /// that of the folder for runs]
    #[arg(long, value_name = "DISK")]
    pub record: Option<String>,
    /// With a command: end it after this time [default: when it ends by itself]
    #[arg(long, value_name = "DURATION", value_parser = record_seconds)]
    pub record_for: Option<f64>,
    /// With a command: record by bpf or tracefs [default: bpf, or tracefs where that is refused]
    #[arg(long, hide_short_help = true, value_name = "WAY")]
    pub by: Option<CapturedBy>,
    /// Record the disk while this command runs, then tune for it as with --from; what it prints
    /// goes to stderr
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = WORKLOAD)]
    #[arg(conflicts_with = "from")]
    pub command: Vec<OsString>,
}

/// Options that are refused with a program, since its I/Os determine them.
const WORKLOAD: [&str; 6] = ["rw", "bs", "jobs", "think", "background", "resume"];

impl ProgramArgs {
    /// True if the workload is that of a program.
    #[must_use]
    pub fn has_program(&self) -> bool {
        self.from.is_some() || !self.command.is_empty()
    }

    /// Refuses options that have no meaning without a program, or without a command.
    ///
    /// # Errors
    /// The first such option.
    pub fn check(&self) -> Result<(), String> {
        let command_options = [
            ("--record", self.record.is_some()),
            ("--record-for", self.record_for.is_some()),
            ("--by", self.by.is_some()),
        ];
        let mut given = command_options.into_iter().filter(|(_, given)| *given);
        let (option, of) = match given.next() {
            Some((option, _)) if self.command.is_empty() => (option, "a command behind --"),
            _ if !self.process.is_empty() && !self.has_program() => {
                ("--process", "--from TRACE or a command behind --")
            }
            _ => return Ok(()),
        };
        let text = format!("tune: {option} needs {of}; name one, or leave it out");
        Err(text)
    }
}

fn record_seconds(text: &str) -> Result<f64, String> {
    parse_seconds_in(text, 1e-3..=1e7)
}

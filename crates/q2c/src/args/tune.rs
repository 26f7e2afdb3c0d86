//! Arguments of `q2c tune`.

use super::time::{budget, seconds_within, time_within};
use super::{Counts, GoalArgs, LimitArgs, MachineArgs, RuleArgs, WorkloadArgs};
use crate::failure::Failure;
use clap::Args;
use q2c_capture::CapturedBy;
use q2c_model::Nanos;
use q2c_policy::PolicySpec;
use q2c_result::Exit;
use q2c_tune::{SECONDS, THINK};
use std::ffi::OsString;
use std::path::PathBuf;

/// Find the best way to wait for I/O.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// The machine of a simulated target.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Numbers of foreground threads, depth 1 each: 1,2,4 or 1..4; several are tuned one after
    /// another, and the answer is told over them
    #[arg(short = 'j', long, value_name = "LIST", default_value = "1")]
    pub jobs: Counts,
    /// Time from an I/O of a thread to its next one, such as 200us, in which it sleeps: fio's
    /// thinktime [default: it submits the next one at once]
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = think,
        hide_short_help = true
    )]
    pub think: Option<Nanos>,
    /// Also try this rule: simulated, may be chosen, run live, such as pas or qt:miss=2% (may be
    /// given again)
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules: simulated, may be chosen, run live.
    #[command(flatten)]
    pub own: RuleArgs,
    /// Try the rules of --policy and --rule even when they take long
    #[arg(long)]
    pub yes: bool,
    /// Measured part of each trial
    #[arg(short = 's', long, value_name = "DURATION", default_value = "1s", value_parser = seconds)]
    pub seconds: f64,
    /// Trials that an answer stands on; what has lost gets fewer, and a block size on average at
    /// most six times as many in all
    #[arg(
        short = 't',
        long,
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Time for all trials, such as 90s: they end when it is spent, but for the first round;
    /// several numbers of jobs get equal shares of it
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Nanos>,
    /// What the run must keep.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Go on with this interrupted run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "scratch"])]
    pub resume: Option<PathBuf>,
    /// Calibrate anew even when a stored calibration fits
    #[arg(long)]
    pub recalibrate: bool,
    /// The program whose I/Os are the workload.
    #[command(flatten, next_help_heading = "For a program of your own")]
    pub program: ProgramArgs,
}

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
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = WORKLOAD,
        conflicts_with = "from"
    )]
    pub command: Vec<OsString>,
}

/// Options that a program's I/Os stand for.
const WORKLOAD: [&str; 6] = ["rw", "bs", "jobs", "think", "background", "resume"];

impl ProgramArgs {
    /// Whether the workload is that of a program.
    pub fn is_asked_for(&self) -> bool {
        self.from.is_some() || !self.command.is_empty()
    }

    /// Refuses options that have no meaning without a program, or without a command.
    pub fn check(&self) -> Result<(), Failure> {
        let of_command = [
            ("--record", self.record.is_some()),
            ("--record-for", self.record_for.is_some()),
            ("--by", self.by.is_some()),
        ];
        let mut given = of_command.into_iter().filter(|(_, given)| *given);
        let (option, of) = match given.next() {
            Some((option, _)) if self.command.is_empty() => (option, "a command behind --"),
            _ if !self.process.is_empty() && !self.is_asked_for() => {
                ("--process", "--from TRACE or a command behind --")
            }
            _ => return Ok(()),
        };
        let why = format!("tune: {option} needs {of}; name one, or leave it out");
        Err(Failure::new(Exit::Usage, why))
    }
}

fn think(text: &str) -> Result<Nanos, String> {
    time_within(text, *THINK.start(), *THINK.end())
}

fn record_seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 1e-3..=1e7)
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, SECONDS)
}

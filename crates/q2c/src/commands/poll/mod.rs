//! The commands of `q2c poll`.

mod kernel;
mod patterns;
mod simulated;
mod steer;

use crate::commands::watch::WatchArgs;
use crate::output::{print, say, screen};
use clap::Subcommand;
use kernel::TuneKernelArgs;
use patterns::{SearchArgs, StudyArgs};
use q2c_host::Roots;
use q2c_host::block::{TargetDisk, disk_of_path_or_name};
use q2c_host::restore::UndoOutcome;
use q2c_model::{Fault, OrFault};
use q2c_report::terminal::{self, Screen};
use q2c_result::Exit;
use simulated::{SimArgs, SweepArgs};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use steer::SteerArgs;

/// The commands of `q2c poll`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PollCommand {
    /// Simulate sleep rules on a trace, beside classic polling and the oracle
    #[command(after_help = RULES_HINT, after_long_help = rules())]
    Sim(SimArgs),
    /// Simulate whole families of sleep rules, and find the best
    #[command(after_help = RULES_HINT, after_long_help = families())]
    Sweep(SweepArgs),
    /// List the sleep rules with their parameters and windows, and say how to write one
    Rules,
    /// Set every rule against every pattern of a set, and score each on patterns that had no part
    /// in the choice of its parameters
    #[command(after_help = RULES_HINT, after_long_help = families())]
    Study(StudyArgs),
    /// Search families of rules for a better one: on some patterns of a set, and then, once, on
    /// those of sources that were held out
    Search(SearchArgs),
    /// Watch a workload while it runs; its method, ratio and background are changed by key
    #[command(after_help = RULES_HINT, after_long_help = rules())]
    Watch(WatchArgs),
    /// Let the kernel's own hybrid polling sleep by a rule of q2c's: follow a device's latencies,
    /// write io_poll_delay (Linux 5.8 to 5.18)
    Steer(SteerArgs),
    /// Find the rule that the kernel's own hybrid polling should sleep by: record its latencies
    /// under your load, simulate, steer by the best rule, verify in the kernel (Linux 5.8 to 5.18)
    TuneKernel(TuneKernelArgs),
}

/// The last line of `-h`, which fits a screen, with the place of further help.
const RULES_HINT: &str =
    "q2c poll rules lists the sleep rules and says how to write one; --help has it as well";

fn families() -> String {
    format!(
        "Families: any value may be a list A|B|C, a range A..B/STEP or a range A..B*FACTOR, both ends included.\n\n{}",
        rules()
    )
}

/// The sleep rules with their parameters and syntax, formatted for 80 columns.
fn rules() -> String {
    terminal::rules(Screen::new(80, false))
}

pub(crate) fn run(command: &PollCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    match command {
        PollCommand::Sim(args) => simulated::sim(args, stop),
        PollCommand::Sweep(args) => simulated::sweep(args, stop),
        PollCommand::Rules => print(&terminal::rules(screen())).map(|()| Exit::Done),
        PollCommand::Study(args) => patterns::study(args, stop),
        PollCommand::Search(args) => patterns::search(args, stop),
        PollCommand::Watch(args) if args.kernel => kernel::watch(args, stop),
        PollCommand::Watch(args) => super::watch::run(args, stop),
        PollCommand::Steer(args) => steer::run(args, stop),
        PollCommand::TuneKernel(args) => kernel::tune(args, stop),
    }
}

struct RestoreOutcome {
    /// Each setting's file with the outcome; empty if nothing was changed.
    text: String,
    is_complete: bool,
}

impl RestoreOutcome {
    fn announce(undone: &[(PathBuf, UndoOutcome)]) -> RestoreOutcome {
        let line = |(file, end): &(PathBuf, UndoOutcome)| format!("{}: {end}", file.display());
        let text = undone.iter().map(line).collect::<Vec<_>>().join("; ");
        let nothing = "nothing was changed";
        say(if text.is_empty() { nothing } else { &text });
        RestoreOutcome {
            text,
            is_complete: undone.iter().all(|(_, outcome)| outcome.is_final()),
        }
    }

    /// The exit code of a command that otherwise succeeded.
    fn exit(&self) -> Exit {
        if self.is_complete {
            return Exit::Done;
        }
        say("the setting could not be put back: `q2c restore` tries again");
        Exit::Requirements
    }
}

/// Finds a disk by a device's path, by a file on it, or by a kernel name such as nvme0n1. A device
/// on top of other disks is refused, with their names.
fn find_disk(roots: &Roots, name: &str) -> Result<TargetDisk, Fault> {
    let target_disk = disk_of_path_or_name(roots, name).or_exit(Exit::Target)?;
    if target_disk.below.is_empty() {
        return Ok(target_disk);
    }
    let below = target_disk.below.iter().map(|disk| disk.name.as_str());
    let message = format!(
        "use the kernel's own hybrid polling of {}: it stands on other disks, name one of them: {}",
        target_disk.disk.name,
        below.collect::<Vec<_>>().join(", ")
    );
    Err(Fault::new(Exit::Target, message))
}

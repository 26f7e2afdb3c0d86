//! The commands of `q2c poll`.

mod cost;
mod kernel;
mod patterns;
mod search;
mod sim;
mod source;
mod steer;
mod study;
mod sweep;
mod tune_kernel;

pub use patterns::folder_of_library;

use crate::args::{PollArgs, PollCommand};
use crate::output::{print, say, screen};
use q2c_host::Roots;
use q2c_host::block::{TargetDisk, of_path_or_name};
use q2c_host::restore::Outcome;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub fn run(args: &PollArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        PollCommand::Sim(args) => sim::run(args, stop),
        PollCommand::Sweep(args) => sweep::run(args, stop),
        PollCommand::Rules => {
            print(&q2c_report::terminal::rules(screen()))?;
            Ok(Exit::Done)
        }
        PollCommand::Study(args) => study::run(args, stop),
        PollCommand::Search(args) => search::run(args, stop),
        PollCommand::Watch(args) if args.kernel => kernel::run(args, stop),
        PollCommand::Watch(args) => super::watch::run(args, stop),
        PollCommand::Steer(args) => steer::run(args, stop),
        PollCommand::TuneKernel(args) => tune_kernel::run(args, stop),
    }
}

struct PutBack {
    /// Each setting's file with the outcome; empty when nothing had been changed.
    words: String,
    as_before: bool,
}

impl PutBack {
    fn told(ends: &[(PathBuf, Outcome)]) -> PutBack {
        let each = ends
            .iter()
            .map(|(file, outcome)| format!("{}: {outcome}", file.display()));
        let words = each.collect::<Vec<_>>().join("; ");
        say(if words.is_empty() {
            "nothing was changed"
        } else {
            &words
        });
        PutBack {
            words,
            as_before: ends.iter().all(|(_, outcome)| outcome.is_final()),
        }
    }

    /// The exit code of a command that did what it was asked for.
    fn exit(&self) -> Exit {
        if self.as_before {
            return Exit::Done;
        }
        say("the setting could not be put back: `q2c restore` tries again");
        Exit::Requirements
    }
}

/// Finds the disk by a device's path, by a file on it, or by a kernel name such as nvme0n1. A
/// device that stands on other disks is refused, with their names.
fn device(roots: &Roots, name: &str) -> Result<TargetDisk, Fault> {
    let target_disk = of_path_or_name(roots, name).or_exit(Exit::Target)?;
    if target_disk.below.is_empty() {
        return Ok(target_disk);
    }
    let below = target_disk.below.iter().map(|disk| disk.name.as_str());
    let below: Vec<&str> = below.collect();
    let why = format!(
        "use the kernel's own hybrid polling of {}: it stands on other disks, name one of them: {}",
        target_disk.disk.name,
        below.join(", ")
    );
    Err(Fault::new(Exit::Target, why))
}

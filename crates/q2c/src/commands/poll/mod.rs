//! The commands of `q2c poll`.

mod cost;
mod kernel;
mod sim;
mod source;
mod steer;
mod sweep;

use crate::args::{PollArgs, PollCommand};
use crate::failure::{Fails, Failure};
use q2c_host::Roots;
use q2c_host::block::{TargetDisk, of_path_or_name};
use q2c_result::Exit;
use std::sync::atomic::AtomicBool;

/// Runs the command that was asked for.
pub fn run(args: &PollArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    match &args.command {
        PollCommand::Sim(args) => sim::run(args, stop),
        PollCommand::Sweep(args) => sweep::run(args, stop),
        PollCommand::Watch(args) if args.kernel => kernel::run(args, stop),
        PollCommand::Watch(args) => super::watch::run(args, stop),
        PollCommand::Steer(args) => steer::run(args, stop),
    }
}

/// Finds the disk by a device's path, by a file on it, or by a kernel name such as nvme0n1. A
/// device that stands on other disks is refused, with their names.
fn device(roots: &Roots, name: &str) -> Result<TargetDisk, Failure> {
    let target_disk = of_path_or_name(roots, name).or_exit(Exit::Target)?;
    if target_disk.below.is_empty() {
        return Ok(target_disk);
    }
    let below: Vec<&str> = target_disk
        .below
        .iter()
        .map(|disk| disk.name.as_str())
        .collect();
    let why = format!(
        "use the kernel's own hybrid polling of {}: it stands on other disks, name one of them: {}",
        target_disk.disk.name,
        below.join(", ")
    );
    Err(Failure::new(Exit::Target, why))
}

//! The command `q2c doctor`.

use crate::args::DoctorArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, screen};
use q2c_host::Roots;
use q2c_host::target::{OpenTarget, Wanted, WriteLeave, open};
use q2c_model::Bytes;
use q2c_result::{Exit, Target};
use q2c_sys::Clock;
use q2c_workbench::examine;
use q2c_workbench::workbench::try_cpus;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Examines the machine, and the target when one is named.
pub fn run(args: &DoctorArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let target = match &args.target {
        Some(path) => Some(target(&roots, path, stop)?),
        None => None,
    };
    let report = examine(&roots, target.as_ref(), &[], Clock::new());
    match args.json {
        true => print_json(&report)?,
        false => print(&q2c_report::terminal::doctor(&report, screen()))?,
    }
    Ok(Exit::Done)
}

/// The facts of the target, which is read for a moment from several CPUs.
fn target(roots: &Roots, path: &Path, stop: &AtomicBool) -> Result<Target, Failure> {
    let wanted = Wanted {
        path: path.to_owned(),
        write: false,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 1,
    };
    let open = open(roots, &wanted, &WriteLeave::none()).or_exit_of(|e| e.exit())?;
    let OpenTarget {
        file,
        mut facts,
        target_disk,
        ..
    } = open;
    try_cpus(roots, file, &mut facts, target_disk, stop).or_exit_of(|e| e.exit())?;
    Ok(facts)
}

//! The command `q2c doctor`.

use crate::args::DoctorArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, screen};
use q2c_host::Roots;
use q2c_host::target::{Wanted, WriteLeave, open};
use q2c_model::Bytes;
use q2c_result::{Exit, Target};
use q2c_sys::Clock;
use q2c_workbench::examine;

/// Examines the machine, and the target when one is named.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let target: Option<Target> = match &args.target {
        Some(path) => {
            let wanted = Wanted {
                path: path.clone(),
                write: false,
                block: Bytes(4096),
                smallest_block: Bytes(4096),
                blocks: 1,
            };
            Some(
                open(&roots, &wanted, &WriteLeave::none())
                    .or_exit_of(|e| e.exit())?
                    .facts,
            )
        }
        None => None,
    };
    let report = examine(&roots, target.as_ref(), &[], Clock::new());
    match args.json {
        true => print_json(&report)?,
        false => print(&q2c_report::terminal::doctor(&report, screen()))?,
    }
    Ok(Exit::Done)
}

//! `q2c poll`.

mod cost;
mod sim;
mod source;
mod sweep;

use crate::args::{PollArgs, PollCommand};
use crate::failure::Failure;
use q2c_result::Exit;
use std::sync::atomic::AtomicBool;

/// Runs one of its commands.
pub fn run(args: &PollArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    match &args.command {
        PollCommand::Sim(args) => sim::run(args, stop),
        PollCommand::Sweep(args) => sweep::run(args, stop),
        PollCommand::Watch(args) => super::watch::run(args, stop),
    }
}

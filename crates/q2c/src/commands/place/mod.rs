//! The commands of `q2c place`.

mod sim;

use crate::args::{PlaceArgs, PlaceCommand};
use crate::failure::Failure;
use q2c_result::Exit;

/// Runs the command that was asked for.
pub fn run(args: &PlaceArgs) -> Result<Exit, Failure> {
    match &args.command {
        PlaceCommand::Sim(args) => sim::run(args),
    }
}

//! The commands of `q2c ramdisk`.

mod create;
mod serve;
mod service;

use crate::args::{RamdiskArgs, RamdiskCommand};
use crate::output::{say, show};
use q2c_host::Roots;
use q2c_model::Fault;
use q2c_ramdisk::{default_folder, delete, hold, list};
use q2c_result::Exit;
use std::sync::atomic::AtomicBool;

pub fn run(args: &RamdiskArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        RamdiskCommand::Create(args) => create::run(args),
        RamdiskCommand::List(args) => {
            show(&list(&Roots::live(), &default_folder())?, args.json)?;
            Ok(Exit::Done)
        }
        RamdiskCommand::Delete(args) => {
            delete(&Roots::live(), &default_folder(), &args.name)?;
            say(&format!("{} is deleted, with its data", args.name));
            Ok(Exit::Done)
        }
        RamdiskCommand::Serve(args) => Ok(serve::run(args, stop)),
        RamdiskCommand::Hold(args) => {
            hold(args.id, args.token, stop)?;
            Ok(Exit::Done)
        }
    }
}

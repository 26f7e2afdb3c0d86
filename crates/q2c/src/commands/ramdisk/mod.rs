//! The commands of `q2c ramdisk`.

mod create;
mod serve;
mod service;

use crate::output::{say, show};
use clap::{Args, Subcommand};
use create::CreateArgs;
use q2c_host::Roots;
use q2c_host::ramdisk::{default_folder, delete, hold, list};
use q2c_model::Fault;
use q2c_result::Exit;
use serve::ServeArgs;
use std::sync::atomic::AtomicBool;

/// Make RAM block devices with service times, list and delete them.
#[derive(Clone, Debug, Args)]
pub(crate) struct RamdiskArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RamdiskCommand,
}

/// The commands of `q2c ramdisk`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RamdiskCommand {
    /// Make a RAM block device, by the module `ramdisk_mq` where it can be loaded, else by ublk; or
    /// recover one whose server was killed
    Create(CreateArgs),
    /// List RAM block devices with what the kernel says about them
    List(ListArgs),
    /// Delete a RAM block device with its data
    Delete(DeleteArgs),
    /// The server of a ublk device; `create` starts it
    #[command(hide = true)]
    Serve(ServeArgs),
    /// The process that keeps a ublk device's data; the server starts it
    #[command(hide = true)]
    Hold(HoldArgs),
}

/// Arguments of `q2c ramdisk list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `q2c ramdisk delete`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Name of the device, such as ublkb0
    pub name: String,
}

/// Arguments of the holder.
#[derive(Clone, Debug, Args)]
pub(crate) struct HoldArgs {
    /// The device's number.
    #[arg(long)]
    pub id: u32,
    /// The number by which it is known again.
    #[arg(long)]
    pub token: u64,
}

pub(crate) fn run(args: &RamdiskArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        RamdiskCommand::Create(args) => create::run(args),
        RamdiskCommand::List(args) => show(&list(&Roots::live(), &default_folder())?, args.json),
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

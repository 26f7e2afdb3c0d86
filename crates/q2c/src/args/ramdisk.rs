//! Arguments of `q2c ramdisk`.

use clap::{Args, Subcommand, ValueEnum};
use q2c_model::{Bytes, parse_size};
use std::path::PathBuf;

/// Make RAM block devices with service times, list and delete them.
#[derive(Clone, Debug, Args)]
pub struct RamdiskArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RamdiskCommand,
}

/// The commands of `q2c ramdisk`.
#[derive(Clone, Debug, Subcommand)]
pub enum RamdiskCommand {
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

/// What makes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViaArg {
    /// The kernel module ramdisk_mq
    Module,
    /// A server in user space
    Ublk,
}

/// Arguments of `q2c ramdisk create`.
#[derive(Clone, Debug, Args)]
pub struct CreateArgs {
    /// Capacity; all of it is reserved at once
    #[arg(long, value_parser = parse_size, required_unless_present = "recover")]
    pub size: Option<Bytes>,
    /// Logical block: a power of two from 512 to 4k
    #[arg(long, default_value = "512", value_parser = parse_size)]
    pub bs: Bytes,
    /// Hardware queues, at most one per CPU [default: one per CPU]
    #[arg(long)]
    pub queues: Option<u32>,
    /// Further hardware queues for polling; only the module has them
    #[arg(long, default_value_t = 0)]
    pub poll_queues: u32,
    /// Requests per hardware queue
    #[arg(long, default_value_t = 128)]
    pub depth: u32,
    /// Service times as those of simulated devices: 50us, lognormal(50us,0.3) or trace=FILE, with
    /// options such as servers=4 behind [default: none]
    #[arg(long, value_name = "TIMES")]
    pub service: Option<String>,
    /// Take the service times of this recording, as --service trace=FILE
    #[arg(long, value_name = "FILE", conflicts_with = "service")]
    pub like: Option<PathBuf>,
    /// What makes the device [default: the module where it can, else ublk]
    #[arg(long)]
    pub via: Option<ViaArg>,
    /// File of the module, where it is not installed
    #[arg(long, value_name = "FILE", conflicts_with = "recover")]
    pub module: Option<PathBuf>,
    /// Take over this ublk device, whose server was killed, with its data
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["size", "service", "like", "via", "queues"]
    )]
    pub recover: Option<String>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Print the device as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `q2c ramdisk list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `q2c ramdisk delete`.
#[derive(Clone, Debug, Args)]
pub struct DeleteArgs {
    /// Name of the device, such as ublkb0
    pub name: String,
}

/// Arguments of the server.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// The device as JSON.
    #[arg(long, required_unless_present = "recover")]
    pub wanted: Option<String>,
    /// Its service times.
    #[arg(long)]
    pub service: Option<String>,
    /// The device to take over.
    #[arg(long)]
    pub recover: Option<String>,
    /// Folder of the restore journals.
    #[arg(long)]
    pub journal: PathBuf,
}

/// Arguments of the holder.
#[derive(Clone, Debug, Args)]
pub struct HoldArgs {
    /// The device's number.
    #[arg(long)]
    pub id: u32,
    /// The number by which it is known again.
    #[arg(long)]
    pub token: u64,
}

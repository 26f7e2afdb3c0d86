//! The command `q2c ramdisk create`.

use super::serve::Started;
use super::service;
use crate::commands::restore;
use crate::output::{print, print_json, say};
use clap::{Args, ValueEnum};
use q2c_host::Roots;
use q2c_host::ramdisk::{
    RamdiskShape, check, check_ublk, default_folder, list, module, service_of,
};
use q2c_host::signals::Orderly;
use q2c_model::{Bytes, Fault, Nanos, OrFault, parse_size};
use q2c_result::Exit;
use q2c_result::ramdisk::RamDevice;
use q2c_service::ServiceTimes;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What makes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViaArg {
    /// The kernel module ramdisk_mq
    Module,
    /// A server in user space
    Ublk,
}

/// Arguments of `q2c ramdisk create`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CreateArgs {
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

/// Makes a device, or takes over one whose server was killed.
pub(crate) fn run(args: &CreateArgs) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let device = match &args.recover {
        Some(name) => recover(args, name)?,
        None => make(&roots, args)?,
    };
    let mut devices = list(&roots, &default_folder())?.devices.into_iter();
    let ram_device = devices.find(|d| d.name == device).ok_or_else(|| {
        let message = format!("find {device}, which was just made");
        Fault::new(Exit::Environment, message)
    })?;
    show_device(args, &ram_device)?;
    Ok(Exit::Done)
}

fn show_device(args: &CreateArgs, device: &RamDevice) -> Result<(), Fault> {
    if args.recover.is_none() && args.queues.is_some_and(|asked| asked != device.queues) {
        say(&format!(
            "{} has {} hardware queues: the kernel took other than were asked for",
            device.name, device.queues
        ));
    }
    if args.json {
        print_json(device)
    } else {
        print(&format!("/dev/{}", device.name))
    }
}

fn make(roots: &Roots, args: &CreateArgs) -> Result<String, Fault> {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let wanted = RamdiskShape {
        size: args.size.unwrap_or_default(),
        block: args.bs,
        queues: args.queues.unwrap_or(cpus),
        poll_queues: args.poll_queues,
        depth: args.depth,
    };
    check(roots, &wanted, cpus)?;
    let text = match &args.like {
        Some(file) => Some(service::like(file)?),
        None => args.service.clone(),
    };
    let spec = text.as_deref().map(service::parsed).transpose()?;
    // Recorded times are read here, too, so that what is wrong with them is told at once.
    let times = spec.as_ref().map(service::times_and_servers).transpose()?;
    let asked = times.as_ref().map(|(times, servers)| (times, *servers));
    match choose(roots, args, &wanted, asked)? {
        ViaArg::Module => {
            let time: Option<Nanos> = asked.and_then(|(times, _)| service::constant(times));
            let made = module::load(roots, &wanted, time, args.module.as_deref());
            Ok(made?.name)
        }
        ViaArg::Ublk => {
            let wanted = serde_json::to_string(&wanted).or_exit(Exit::Internal)?;
            let mut server_arguments = vec!["--wanted".to_owned(), wanted];
            if let Some(text) = text {
                server_arguments.extend(["--service".to_owned(), text]);
            }
            start(args, &server_arguments)
        }
    }
}

/// What makes the device, with the reason on stderr.
fn choose(
    roots: &Roots,
    args: &CreateArgs,
    wanted: &RamdiskShape,
    times: Option<(&ServiceTimes, usize)>,
) -> Result<ViaArg, Fault> {
    let why_not =
        || module::unfit(wanted, times).or_else(|| module::lacking(roots, args.module.as_deref()));
    let lacking =
        |reason: String| Fault::new(Exit::Environment, format!("make a RAM device: {reason}"));
    match args.via {
        Some(ViaArg::Module) => match why_not() {
            Some(reason) => Err(lacking(reason)),
            None => Ok(ViaArg::Module),
        },
        None if why_not().is_none() => {
            say("made by the module ramdisk_mq, which can be loaded here");
            Ok(ViaArg::Module)
        }
        via => {
            let reason = why_not();
            if wanted.poll_queues > 0 {
                let suffix = reason.map_or_else(String::new, |reason| {
                    format!("; the module cannot: {reason}")
                });
                return Err(lacking(format!("ublk has no poll queues{suffix}")));
            }
            let module = reason.filter(|_| via.is_none());
            match (check_ublk(), module) {
                (Err(error), Some(reason)) => {
                    let message = format!("{error}; and not by the module: {reason}");
                    Err(Fault::new(error.exit(), message))
                }
                (Err(error), None) => Err(Fault::new(error.exit(), error)),
                (Ok(()), Some(reason)) => {
                    say(&format!("served by ublk, not by the module: {reason}"));
                    Ok(ViaArg::Ublk)
                }
                (Ok(()), None) => Ok(ViaArg::Ublk),
            }
        }
    }
}

fn recover(args: &CreateArgs, name: &str) -> Result<String, Fault> {
    check_ublk()?;
    let mut server_arguments = vec!["--recover".to_owned(), name.to_owned()];
    let text = service_of(&default_folder(), name)?;
    if let Some(text) = text {
        server_arguments.extend(["--service".to_owned(), text]);
    }
    start(args, &server_arguments)
}

/// Starts the server, waits until it tells how that went, and returns the device's name.
fn start(args: &CreateArgs, server_arguments: &[String]) -> Result<String, Fault> {
    let journal = restore::folder(args.journal.as_deref())?;
    let journal = std::path::absolute(journal).or_exit(Exit::Usage)?;
    let program = std::env::current_exe().or_exit(Exit::Environment)?;
    let mut command = Command::new(program);
    command.args(["ramdisk", "serve", "--journal"]).arg(journal);
    command.args(server_arguments).current_dir("/");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped());
    let failed = |e: std::io::Error| {
        Fault::new(Exit::Environment, format!("start the device's server: {e}"))
    };
    // A signal that comes now must not end this process between the device and its report.
    let _orderly = Orderly::begin();
    let mut server = command.spawn().map_err(failed)?;
    let mut line = String::new();
    let stdout = server.stdout.take().expect("a pipe");
    let read = BufReader::new(stdout).read_line(&mut line);
    read.map_err(failed)?;
    let started = serde_json::from_str(&line);
    if let Ok(Started::Ready(name)) = started {
        return Ok(name);
    }
    server.wait().ok();
    let Ok(Started::Failed(code, message)) = started else {
        let message = "start the device's server: it ended without a word; `q2c restore` deletes what it may have left";
        return Err(Fault::new(Exit::Environment, message));
    };
    let mut codes = Exit::TABLE.iter().map(|(exit, _)| *exit);
    let exit = codes.find(|exit| exit.code() == code);
    Err(Fault::new(exit.unwrap_or(Exit::Internal), message))
}

//! The commands of `q2c ramdisk`.

use crate::commands::restore;
use crate::output::{print, say, show, show_as};
use clap::{Args, Subcommand, ValueEnum};
use q2c_engine::EngineSpec;
use q2c_engine::engines::Service;
use q2c_host::Roots;
use q2c_host::ramdisk::{
    RamdiskShape, Record, ServeRequest, ServerWork, check, check_ublk, default_folder, delete,
    hold, list, module, service_of,
};
use q2c_host::signals::Orderly;
use q2c_model::{Bytes, Fault, OrFault, parse_size};
use q2c_result::Exit;
use q2c_service::ServiceTimes;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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

pub(crate) fn run(command: &RamdiskCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    match command {
        RamdiskCommand::Create(args) => create(args),
        RamdiskCommand::List(args) => show(&list(&Roots::live(), &default_folder())?, args.json),
        RamdiskCommand::Delete(args) => {
            delete(&Roots::live(), &default_folder(), &args.name)?;
            say(&format!("{} is deleted, with its data", args.name));
            Ok(Exit::Done)
        }
        RamdiskCommand::Serve(args) => Ok(serve(args, stop)),
        RamdiskCommand::Hold(args) => {
            hold(args.id, args.token, stop)?;
            Ok(Exit::Done)
        }
    }
}

/// Arguments of the server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StartReport {
    /// The device of this name exists.
    Ready(String),
    /// The device does not exist; holds the exit code and the message.
    Failed(u8, String),
}

fn serve(args: &ServeArgs, stop: &AtomicBool) -> Exit {
    match run_server(args, stop) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            let (exit, message) = (failure.exit(), failure.message().to_owned());
            report(&StartReport::Failed(exit.code(), message));
            exit
        }
    }
}

fn report(started: &StartReport) {
    if let Ok(line) = serde_json::to_string(started) {
        // The process that started the server may be gone.
        print(&line).ok();
    }
}

fn run_server(args: &ServeArgs, stop: &AtomicBool) -> Result<(), Fault> {
    let work = match (&args.recover, &args.wanted) {
        (Some(name), _) => ServerWork::Recover(name.clone()),
        (None, wanted) => {
            let wanted = wanted.as_deref().unwrap_or_default();
            ServerWork::Make(serde_json::from_str(wanted).or_exit(Exit::Usage)?)
        }
    };
    let request = ServeRequest {
        work,
        times: args.service.as_deref().map(service_times).transpose()?,
        service: args.service.clone(),
        journal: args.journal.clone(),
        folder: default_folder(),
    };
    let ready = |record: &Record| report(&StartReport::Ready(record.name()));
    q2c_host::ramdisk::serve(&request, stop, ready)
}

/// The service times that this text describes, and the number of servers. A recording is read now.
fn service_times(text: &str) -> Result<(ServiceTimes, usize), Fault> {
    let wrong = |reason: &str| {
        let reason = reason.strip_prefix("sim: ").unwrap_or(reason);
        Fault::usage(format!("understand --service {text}: {reason}"))
    };
    let spec = match format!("sim:{text}").parse() {
        Ok(EngineSpec::Sim(spec)) => spec,
        Ok(_) => return Err(wrong("expected service times such as 50us")),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let times = match spec.service {
        Service::Model(times) => times,
        Service::Recorded(wanted) => {
            let tried = format!("read service times from {}", wanted.path.display());
            let read = q2c_study::service_times(&wanted).or_fault(Exit::Input, tried)?;
            ServiceTimes::Empirical(Arc::new(read))
        }
    };
    Ok((times, spec.servers))
}

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
    #[arg(long, value_name = "NAME")]
    #[arg(conflicts_with_all = ["size", "service", "like", "via", "queues"])]
    pub recover: Option<String>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Print the device as JSON
    #[arg(long)]
    pub json: bool,
}

/// Creates a device, or takes over one whose server was killed.
fn create(args: &CreateArgs) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let name = match &args.recover {
        Some(name) => recover(args, name)?,
        None => make(&roots, args)?,
    };
    let mut devices = list(&roots, &default_folder())?.devices.into_iter();
    let missing = || Fault::environment(format!("find {name}, which was just made"));
    let device = devices.find(|d| d.name == name).ok_or_else(missing)?;
    let queues = device.queues;
    if args.recover.is_none() && args.queues.is_some_and(|asked| asked != queues) {
        say(&format!(
            "{name} has {queues} hardware queues: the kernel took other than were asked for"
        ));
    }
    show_as(&device, args.json, |_| format!("/dev/{name}"))
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
        // The server runs in another folder, so the path is made absolute.
        Some(file) => {
            let path = file.canonicalize();
            let path = path.or_fault(Exit::Input, format_args!("open {}", file.display()))?;
            Some(format!("trace={}", path.display()))
        }
        None => args.service.clone(),
    };
    // Recorded times are read here too, so that a mistake is reported at once.
    let times = text.as_deref().map(service_times).transpose()?;
    let times = times.as_ref().map(|(times, servers)| (times, *servers));
    match choose_maker(roots, args, &wanted, times)? {
        ViaArg::Module => {
            let time = match times {
                Some((ServiceTimes::Constant(time), _)) => Some(*time),
                _ => None,
            };
            let device = module::load(roots, &wanted, time, args.module.as_deref());
            Ok(device?.name)
        }
        ViaArg::Ublk => {
            let wanted = serde_json::to_string(&wanted).or_exit(Exit::Internal)?;
            launch(args, ["--wanted", &wanted], text)
        }
    }
}

/// Chooses what creates the device, and gives the reason on stderr.
fn choose_maker(
    roots: &Roots,
    args: &CreateArgs,
    wanted: &RamdiskShape,
    times: Option<(&ServiceTimes, usize)>,
) -> Result<ViaArg, Fault> {
    let obstacle = module::misfit(wanted, times);
    let obstacle = obstacle.or_else(|| module::obstacle(roots, args.module.as_deref()));
    let fault = |reason: &str| Fault::environment(format!("make a RAM device: {reason}"));
    match (args.via, obstacle) {
        (Some(ViaArg::Module), None) => Ok(ViaArg::Module),
        (Some(ViaArg::Module), Some(reason)) => Err(fault(&reason)),
        (None, None) => {
            say("made by the module ramdisk_mq, which can be loaded here");
            Ok(ViaArg::Module)
        }
        (_, obstacle) if wanted.poll_queues > 0 => {
            let suffix = obstacle.map(|reason| format!("; the module cannot: {reason}"));
            let suffix = suffix.unwrap_or_default();
            Err(fault(&format!("ublk has no poll queues{suffix}")))
        }
        (Some(ViaArg::Ublk), _) => Ok(check_ublk().map(|()| ViaArg::Ublk)?),
        (None, Some(reason)) => {
            check_ublk().map_err(|error| {
                let message = format!("{error}; and not by the module: {reason}");
                Fault::new(error.exit(), message)
            })?;
            say(&format!("served by ublk, not by the module: {reason}"));
            Ok(ViaArg::Ublk)
        }
    }
}

fn recover(args: &CreateArgs, name: &str) -> Result<String, Fault> {
    check_ublk()?;
    let service = service_of(&default_folder(), name)?;
    launch(args, ["--recover", name], service)
}

/// Starts the server, waits for its report, and returns the device's name. `option` is the server's
/// option that says which device it makes or takes over.
fn launch(args: &CreateArgs, option: [&str; 2], service: Option<String>) -> Result<String, Fault> {
    let journal = restore::folder(args.journal.as_deref())?;
    let journal = std::path::absolute(journal).or_exit(Exit::Usage)?;
    let program = std::env::current_exe().or_exit(Exit::Environment)?;
    let mut command = Command::new(program);
    command.args(["ramdisk", "serve", "--journal"]).arg(journal);
    command.args(option).current_dir("/");
    if let Some(service) = service {
        command.args(["--service", &service]);
    }
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped());
    let failed = |e: std::io::Error| Fault::environment(format!("start the device's server: {e}"));
    // From here on a signal must not end this process before it has reported the device.
    let _orderly = Orderly::begin();
    let mut server = command.spawn().map_err(failed)?;
    let mut line = String::new();
    let stdout = server.stdout.take().expect("a pipe");
    let read = BufReader::new(stdout).read_line(&mut line);
    read.map_err(failed)?;
    let started = serde_json::from_str(&line);
    if let Ok(StartReport::Ready(name)) = started {
        return Ok(name);
    }
    server.wait().ok();
    let Ok(StartReport::Failed(code, message)) = started else {
        let message = "start the device's server: it ended without a word; `q2c restore` deletes what it may have left";
        return Err(Fault::environment(message));
    };
    let mut codes = Exit::TABLE.iter().map(|(exit, _)| *exit);
    let exit = codes.find(|exit| exit.code() == code);
    Err(Fault::new(exit.unwrap_or(Exit::Internal), message))
}

//! The server of a ublk device, from its making or recovery to its end.

use crate::Roots;
use crate::ramdisk::queue::{self, RamdiskService};
use crate::ramdisk::{RamdiskShape, Record};
use crate::restore::{Guard, Owner, RestoreError};
use q2c_model::{Exit, Fault, OrFault};
use q2c_service::{Draws, Servers, ServiceTimes};
use q2c_sys::thread::{least_timer_slack, pin};
use q2c_sys::ublk::{Control, Queue, UblkMemory, UblkShape};
use rustix::fs::{FallocateFlags, MemfdFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long the kernel may take for a step.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks at what is waited for.
const LOOK: Duration = Duration::from_millis(50);
/// The most devices that are tried for a free number.
const MOST_DEVICES: u32 = 64;

/// What a server serves.
#[derive(Clone, Debug)]
pub enum ServerWork {
    /// A new device.
    Make(RamdiskShape),
    /// The device of this name, whose server has ended.
    Recover(String),
}

/// What a server is asked for.
#[derive(Debug)]
pub struct ServeRequest {
    /// The device.
    pub work: ServerWork,
    /// Service times and how many requests are served at a time; `None` for none.
    pub times: Option<(ServiceTimes, usize)>,
    /// The service times in words.
    pub service: Option<String>,
    /// Folder of the restore journals.
    pub journal: PathBuf,
    /// Folder of the records.
    pub folder: PathBuf,
}

/// Makes the device and serves it until `stop` is set or the device is deleted. `ready` is called
/// when the block device is there. After an error whatever was made is deleted.
pub fn serve(
    request: &ServeRequest,
    stop: &AtomicBool,
    ready: impl FnOnce(&Record),
) -> Result<(), Fault> {
    // It fails for the first process of a group, which is as good.
    rustix::process::setsid().ok();
    let mut control = Control::open().or_fault(Exit::Environment, "open ublk's control device")?;
    let roots = Roots::live();
    let mut guard = Guard::new(&roots, &request.journal)?;
    let made = match &request.work {
        ServerWork::Make(wanted) => make(&roots, &mut control, &mut guard, request, *wanted)?,
        ServerWork::Recover(name) => {
            recover(&roots, &mut control, &mut guard, &request.folder, name)?
        }
    };
    let served = run(&mut control, &made, request, stop, ready);
    // The device is deleted before its holder ends and the record goes.
    guard.undo();
    made.record.remove(&request.folder);
    if let Some(mut holder) = made.holder {
        holder.kill().ok();
        holder.wait().ok();
    }
    served
}

/// A device that is added or is to be taken over.
struct ServedDevice {
    record: Record,
    memory: UblkMemory,
    /// The file of the data, which stays open here as well.
    _data: File,
    holder: Option<Child>,
    recovers: bool,
}

fn make(
    roots: &Roots,
    control: &mut Control,
    guard: &mut Guard,
    request: &ServeRequest,
    wanted: RamdiskShape,
) -> Result<ServedDevice, Fault> {
    let data = data(&wanted).or_fault(
        Exit::Environment,
        format_args!("reserve {} of memory", wanted.size),
    )?;
    let memory = UblkMemory::map(&data).or_fault(Exit::Environment, "map the data")?;
    let token = crate::ramdisk::token();
    let id = add(control, guard, &wanted, token)?;
    let holder = queue::start_holder(id, token)
        .or_fault(Exit::Environment, "start the process that keeps data")?;
    let record = Record {
        id,
        token,
        wanted,
        service: request.service.clone(),
        journal: request.journal.clone(),
        server: Owner::current(roots)?,
        holder: Owner::of_process(roots, holder.id())?,
        fd: data.as_raw_fd(),
    };
    Ok(ServedDevice {
        record,
        memory,
        _data: data,
        holder: Some(holder),
        recovers: false,
    })
}

/// A file without a name in memory, all of which is reserved. It is not closed on exec, so that the
/// holder inherits it.
fn data(wanted: &RamdiskShape) -> io::Result<File> {
    let data = rustix::fs::memfd_create("q2c-ramdisk", MemfdFlags::empty())?;
    rustix::fs::fallocate(&data, FallocateFlags::empty(), 0, wanted.size.0)?;
    Ok(File::from(data))
}

/// Adds the device under the first number that is free.
fn add(
    control: &mut Control,
    guard: &mut Guard,
    wanted: &RamdiskShape,
    token: u64,
) -> Result<u32, Fault> {
    let shape = UblkShape {
        bytes: wanted.size.0,
        block: wanted.block.0 as u32,
        queues: wanted.queues as u16,
        depth: wanted.depth as u16,
        token,
    };
    let free = |id: &u32| !path('c', *id).exists();
    for id in (0..MOST_DEVICES).filter(free) {
        // Another server that is just making this number holds its lock.
        match guard.device(&path('c', id), token) {
            Err(RestoreError::Busy { .. }) => continue,
            other => other?,
        }
        match control.add(id, &shape) {
            Ok(()) => return Ok(id),
            Err(e) if e.raw_os_error() == Some(17) => guard.not_made()?,
            Err(e) => {
                return Err(e)
                    .or_fault(Exit::Environment, format_args!("add the ublk device {id}"));
            }
        }
    }
    let text = format!(
        "make a RAM device: expected a free number of a ublk device below {MOST_DEVICES}, found none"
    );
    Err(Fault::new(Exit::Environment, text))
}

fn path(kind: char, id: u32) -> PathBuf {
    format!("/dev/ublk{kind}{id}").into()
}

fn recover(
    roots: &Roots,
    control: &mut Control,
    guard: &mut Guard,
    folder: &Path,
    name: &str,
) -> Result<ServedDevice, Fault> {
    let mut record = Record::find(folder, name)?;
    let lost = |reason: &str| {
        let text = format!(
            "recover {name}: {reason}; the data are lost, and `q2c ramdisk delete {name}` removes the device"
        );
        Fault::new(Exit::Target, text)
    };
    if record.is_served(roots) {
        let server = record.server.pid;
        let text = format!("recover {name}: process {server} serves it");
        return Err(Fault::new(Exit::Target, text));
    }
    match control.info(record.id) {
        Ok(info) if info.token == record.token => {}
        _ => return Err(lost("the kernel has no such device any more")),
    }
    if !record.holder.is_alive(roots) {
        return Err(lost("the process that kept its data has ended"));
    }
    let data = File::options().read(true).write(true).open(record.data());
    let data = data.map_err(|e| lost(&e.to_string()))?;
    let memory = UblkMemory::map(&data).or_fault(Exit::Environment, "map the data")?;
    let until = Instant::now() + PATIENCE;
    // EBUSY as long as the kernel still ends the old server.
    let begun = patiently(until, || control.begin_recovery(record.id));
    begun.or_fault(Exit::Environment, format_args!("take over {name}"))?;
    // From here on an error deletes the device.
    guard.device(&path('c', record.id), record.token)?;
    record.server = Owner::current(roots)?;
    Ok(ServedDevice {
        record,
        memory,
        _data: data,
        holder: None,
        recovers: true,
    })
}

fn patiently<T>(until: Instant, mut step: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match step() {
            Err(e) if Instant::now() >= until => return Err(e),
            Err(_) => thread::sleep(LOOK),
            done => return done,
        }
    }
}

fn run(
    control: &mut Control,
    made: &ServedDevice,
    request: &ServeRequest,
    stop: &AtomicBool,
    ready: impl FnOnce(&Record),
) -> Result<(), Fault> {
    let id = made.record.id;
    let file = path('c', id);
    let open = || File::options().read(true).write(true).open(&file);
    let device = patiently(Instant::now() + PATIENCE, open)
        .or_fault(Exit::Environment, format_args!("open {}", file.display()))?;
    let device = Arc::new(device);
    let info = control
        .info(id)
        .or_fault(Exit::Environment, "ask about the device")?;
    let servers = Servers::new(request.times.as_ref().map_or(1, |(_, servers)| *servers));
    thread::scope(|scope| {
        let (sender, opened) = mpsc::channel();
        let mut threads = Vec::new();
        for number in 0..info.queues {
            let cpu = control.cpu_of_queue(id, number);
            let (device, sender) = (Arc::clone(&device), sender.clone());
            let service = request.times.as_ref().map(|(times, _)| RamdiskService {
                draws: Draws::new(times.clone(), u64::from(number) + 1),
                servers: &servers,
            });
            let memory = &made.memory;
            threads.push(scope.spawn(move || {
                cpu.map(pin);
                least_timer_slack().ok();
                let queue = Queue::open(&device, number, info.depth);
                drop(device);
                match queue {
                    Ok(queue) => {
                        sender.send(Ok(())).ok();
                        drop(sender);
                        queue::run(queue, memory, service)
                    }
                    Err(e) => {
                        sender.send(Err(e)).ok();
                        Ok(())
                    }
                }
            }));
        }
        drop(sender);
        let up = opened.iter().collect::<io::Result<()>>().and_then(|()| {
            if made.recovers {
                control.end_recovery(id)
            } else {
                control.start(id)
            }
        });
        let up = up
            .or_fault(Exit::Environment, format_args!("start the device {id}"))
            .and_then(|()| made.record.write(&request.folder));
        if up.is_ok() {
            ready(&made.record);
            while !stop.load(Ordering::Acquire) && !threads.iter().any(|t| t.is_finished()) {
                thread::sleep(LOOK);
            }
        }
        // Queues end when the kernel takes their requests back.
        control.stop(id).ok();
        let ended = threads.into_iter().try_for_each(|one| match one.join() {
            Ok(ended) => ended.or_fault(Exit::Environment, "serve a queue"),
            Err(_) => Err(Fault::new(
                Exit::Environment,
                "make a RAM device: the thread of a queue failed",
            )),
        });
        up.and(ended)
    })
}

//! The server of a ublk device, from its making or recovery to its end.

use crate::ramdisk::queue::{self, RamdiskService};
use crate::ramdisk::{RamdiskShape, Record};
use crate::restore::{Guard, Owner, RestoreError, retry};
use crate::{Roots, attr};
use q2c_model::{Exit, Fault, OrFault};
use q2c_service::{Draws, Servers, ServiceTimes};
use q2c_sys::thread::{minimize_timer_slack, pin};
use q2c_sys::ublk::{Control, Queue, UblkMemory, UblkShape};
use rustix::fs::{FallocateFlags, MemfdFlags, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a step of the kernel may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two looks at the stop flag and the queues' threads.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Device numbers below this one are tried for a free one.
const MAX_DEVICES: u32 = 64;

/// The device that a server serves.
#[derive(Clone, Debug)]
pub enum ServerWork {
    /// A new device.
    Make(RamdiskShape),
    /// The device of this name, whose server has ended.
    Recover(String),
}

/// The parameters of [`serve()`].
#[derive(Debug)]
pub struct ServeRequest {
    /// The device to make or to recover.
    pub work: ServerWork,
    /// Service times, and the number of requests served at a time; `None` without service times.
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
    // A session of its own, as for the holder; a group leader cannot start one.
    rustix::process::setsid().ok();
    let control = Control::open().or_fault(Exit::Environment, "open ublk's control device")?;
    let roots = Roots::live();
    let guard = Guard::new(&roots, &request.journal)?;
    let mut server = Server {
        roots,
        control,
        guard,
        request,
    };
    let device = match &request.work {
        ServerWork::Make(shape) => server.make(*shape)?,
        ServerWork::Recover(name) => server.recover(name)?,
    };
    let served = server.run(&device, stop, ready);
    // The device is deleted before its holder ends and the record goes.
    server.guard.undo();
    device.record.remove(&request.folder);
    if let Some(mut holder) = device.holder {
        holder.kill().ok();
        holder.wait().ok();
    }
    served
}

struct Server<'a> {
    guard: Guard,
    control: Control,
    roots: Roots,
    request: &'a ServeRequest,
}

/// A device that was added, or that this server takes over.
struct ServedDevice {
    record: Record,
    memory: UblkMemory,
    /// The file of the data, which stays open here as well.
    _data: File,
    /// The process that keeps the data, if this server started it; `None` after a takeover.
    holder: Option<Child>,
}

impl Server<'_> {
    fn make(&mut self, shape: RamdiskShape) -> Result<ServedDevice, Fault> {
        let tried = format_args!("reserve {} of memory", shape.size);
        let data = make_data_file(&shape).or_fault(Exit::Environment, tried)?;
        let memory = UblkMemory::map(&data).or_fault(Exit::Environment, "map the data")?;
        let token = crate::ramdisk::token();
        let id = self.add(&shape, token)?;
        let holder = queue::start_holder(id, token)
            .or_fault(Exit::Environment, "start the process that keeps data")?;
        let record = Record {
            id,
            token,
            wanted: shape,
            service: self.request.service.clone(),
            journal: self.request.journal.clone(),
            server: Owner::current(&self.roots)?,
            holder: Owner::from_process(&self.roots, holder.id())?,
            fd: data.as_raw_fd(),
        };
        Ok(ServedDevice {
            record,
            memory,
            _data: data,
            holder: Some(holder),
        })
    }

    /// Adds the device under the first number that is free.
    fn add(&mut self, wanted: &RamdiskShape, token: u64) -> Result<u32, Fault> {
        let shape = UblkShape {
            bytes: wanted.size.0,
            block: wanted.block.0 as u32,
            queues: wanted.queues as u16,
            depth: wanted.depth as u16,
            token,
        };
        for id in (0..MAX_DEVICES).filter(|id| !device_path('c', *id).exists()) {
            // Another server that is just making this number holds its lock.
            match self.guard.device(&device_path('c', id), token) {
                Err(RestoreError::Busy { .. }) => continue,
                other => other?,
            }
            match self.control.add(id, &shape) {
                Err(e) if e.raw_os_error() == Some(17) => self.guard.cancel_last()?, // EEXIST
                added => {
                    let tried = format_args!("add the ublk device {id}");
                    return added.map(|()| id).or_fault(Exit::Environment, tried);
                }
            }
        }
        let text = format!(
            "make a RAM device: expected a free number of a ublk device below {MAX_DEVICES}, found none"
        );
        Err(Fault::new(Exit::Environment, text))
    }

    fn recover(&mut self, name: &str) -> Result<ServedDevice, Fault> {
        let mut record = Record::find(&self.request.folder, name)?;
        let refused =
            |reason: String| Fault::new(Exit::Target, format!("recover {name}: {reason}"));
        let lost = |reason: &str| {
            refused(format!(
                "{reason}; the data are lost, and `q2c ramdisk delete {name}` removes the device"
            ))
        };
        if record.is_served(&self.roots) {
            return Err(refused(format!("process {} serves it", record.server.pid)));
        }
        match self.control.info(record.id) {
            Ok(info) if info.token == record.token => {}
            _ => return Err(lost("the kernel has no such device any more")),
        }
        if !record.holder.is_alive(&self.roots) {
            return Err(lost("the process that kept its data has ended"));
        }
        let data = attr::open(&record.data(), /* write */ true, OFlags::CLOEXEC);
        let data = data.map_err(|e| lost(&e.to_string()))?;
        let memory = UblkMemory::map(&data).or_fault(Exit::Environment, "map the data")?;
        // The kernel answers EBUSY while it is still ending the old server.
        let begun = retry(Instant::now() + STEP_TIMEOUT, || {
            self.control.begin_recovery(record.id)
        });
        begun.or_fault(Exit::Environment, format_args!("take over {name}"))?;
        // From here on an error deletes the device.
        self.guard
            .device(&device_path('c', record.id), record.token)?;
        record.server = Owner::current(&self.roots)?;
        Ok(ServedDevice {
            record,
            memory,
            _data: data,
            holder: None,
        })
    }

    fn run(
        &mut self,
        served: &ServedDevice,
        stop: &AtomicBool,
        ready: impl FnOnce(&Record),
    ) -> Result<(), Fault> {
        let (id, control, request) = (served.record.id, &mut self.control, self.request);
        let file = device_path('c', id);
        let open = || attr::open(&file, /* write */ true, OFlags::CLOEXEC);
        let device = retry(Instant::now() + STEP_TIMEOUT, open)
            .or_fault(Exit::Environment, format_args!("open {}", file.display()))?;
        let device = Arc::new(device);
        let info = control.info(id);
        let info = info.or_fault(Exit::Environment, "ask about the device")?;
        let servers = Servers::new(request.times.as_ref().map_or(1, |(_, servers)| *servers));
        thread::scope(|scope| {
            let (sender, open_results) = mpsc::channel();
            let mut threads = Vec::new();
            for number in 0..info.queues {
                let cpu = control.cpu_of_queue(id, number);
                let (device, sender) = (Arc::clone(&device), sender.clone());
                let service = request.times.as_ref().map(|(times, _)| RamdiskService {
                    draws: Draws::new(times.clone(), u64::from(number) + 1),
                    servers: &servers,
                });
                let memory = &served.memory;
                threads.push(scope.spawn(move || {
                    cpu.map(pin);
                    minimize_timer_slack().ok();
                    let queue = Queue::open(&device, number, info.depth);
                    drop(device);
                    let (open_result, queue) = match queue {
                        Ok(queue) => (Ok(()), Some(queue)),
                        Err(e) => (Err(e), None),
                    };
                    sender.send(open_result).ok();
                    drop(sender);
                    queue.map_or(Ok(()), |queue| queue::run(queue, memory, service))
                }));
            }
            drop(sender);
            let all_opened = open_results.iter().collect::<io::Result<()>>();
            let started = all_opened.and_then(|()| match served.holder {
                Some(_) => control.start(id),
                None => control.end_recovery(id),
            });
            let started = started
                .or_fault(Exit::Environment, format_args!("start the device {id}"))
                .and_then(|()| served.record.write(&request.folder));
            if started.is_ok() {
                ready(&served.record);
                while !stop.load(Ordering::Acquire) && !threads.iter().any(|t| t.is_finished()) {
                    thread::sleep(STOP_CHECK_INTERVAL);
                }
            }
            // Queues end when the kernel takes their requests back.
            control.stop(id).ok();
            let ended = threads.into_iter().try_for_each(|t| match t.join() {
                Ok(ended) => ended.or_fault(Exit::Environment, "serve a queue"),
                Err(_) => {
                    let text = "make a RAM device: the thread of a queue failed";
                    Err(Fault::new(Exit::Environment, text))
                }
            });
            started.and(ended)
        })
    }
}

/// Makes an anonymous file in memory, and reserves all of it. Without close-on-exec the holder
/// inherits it.
fn make_data_file(wanted: &RamdiskShape) -> io::Result<File> {
    let data = rustix::fs::memfd_create("q2c-ramdisk", MemfdFlags::empty())?;
    rustix::fs::fallocate(&data, FallocateFlags::empty(), 0, wanted.size.0)?;
    Ok(File::from(data))
}

fn device_path(kind: char, id: u32) -> PathBuf {
    format!("/dev/ublk{kind}{id}").into()
}

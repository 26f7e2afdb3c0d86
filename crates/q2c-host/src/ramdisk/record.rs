//! The record of a ublk device: a JSON file that exists as long as the device.

use crate::block::device_number;
use crate::ramdisk::{RamdiskShape, module};
use crate::restore::{Owner, delete_device, wait_until_gone};
use crate::target::{FileId, refuse_occupied};
use crate::{Roots, attr};
use q2c_model::{Bytes, Exit, Fault, OrFault, Sectors};
use q2c_result::ramdisk::{RamDevice, RamDeviceServer, RamDevices, SCHEMA, State};
use q2c_sys::ublk::{Control, DeviceInfo};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// A ublk device, its service times and its processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The number in the device's name, such as 7 in `ublkb7`.
    pub id: u32,
    /// The token that tells this device from a later one of the same number.
    pub token: u64,
    /// The shape that was requested.
    pub wanted: RamdiskShape,
    /// The requested service times in words; `None` for a device without service times.
    pub service: Option<String>,
    /// Folder of the restore journal that names the device.
    pub journal: PathBuf,
    /// The server process.
    pub server: Owner,
    /// The process that keeps the data.
    pub holder: Owner,
    /// Descriptor number of the data's file in the holder.
    pub fd: i32,
}

/// The folder of the records. A reboot empties it, as it deletes the devices.
pub fn default_folder() -> PathBuf {
    PathBuf::from("/run/q2c/ramdisk")
}

impl Record {
    /// The block device's name.
    pub fn name(&self) -> String {
        format!("ublkb{}", self.id)
    }

    pub(crate) fn is_served(&self, roots: &Roots) -> bool {
        self.server.is_alive(roots)
    }

    /// The path of the data, in the holder's descriptors.
    pub(crate) fn data(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.holder.pid, self.fd).into()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Fault> {
        let path = self.path(folder);
        let temporary = folder.join(format!(".{}.{}", self.name(), self.server.pid));
        let put = || {
            fs::create_dir_all(folder)?;
            fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
            fs::rename(&temporary, &path)
        };
        put().or_fault(Exit::Environment, format_args!("write {}", path.display()))
    }

    /// Removes the record; a missing one is no error.
    pub(crate) fn remove(&self, folder: &Path) {
        fs::remove_file(self.path(folder)).ok();
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name()))
    }

    /// All records in `folder`, sorted by number; a missing folder has none.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Record>, Fault> {
        let tried = format!("read {}", folder.display());
        let listed = match fs::read_dir(folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.or_fault(Exit::Environment, &tried)?,
        };
        let mut records = Vec::new();
        for entry in listed {
            let path = entry.or_fault(Exit::Environment, &tried)?.path();
            if path.extension().is_some_and(|e| e == "json") {
                let read = || Ok(serde_json::from_slice(&fs::read(&path)?)?);
                let record: io::Result<Record> = read();
                let tried = format_args!("read {}", path.display());
                records.push(record.or_fault(Exit::Environment, tried)?);
            }
        }
        records.sort_by_key(|record| record.id);
        Ok(records)
    }

    /// The record of the device `name`, which may also be its path.
    pub(crate) fn find(folder: &Path, name: &str) -> Result<Record, Fault> {
        let short = name.strip_prefix("/dev/").unwrap_or(name);
        let mut records = Record::read_all(folder)?.into_iter();
        let hint = "q2c ramdisk list names those that there are";
        let unknown = || Fault::new(Exit::Target, format!("find the RAM device {name}: {hint}"));
        let record = records.find(|record| record.name() == short);
        record.ok_or_else(unknown)
    }
}

/// The requested service times of the device `name`, in words.
pub fn service_of(folder: &Path, name: &str) -> Result<Option<String>, Fault> {
    Ok(Record::find(folder, name)?.service)
}

/// All RAM devices: those of the module, and those of ublk servers of q2c.
pub fn list(roots: &Roots, folder: &Path) -> Result<RamDevices, Fault> {
    let mut devices = module::devices(roots);
    let mut control = Control::open().ok();
    for record in Record::read_all(folder)? {
        let info = control.as_mut().and_then(|c| c.info(record.id).ok());
        let info = info.filter(|info| info.token == record.token);
        match info {
            Some(info) => devices.push(ram_device(roots, &record, info)),
            // `q2c restore` or another program deleted the device after its server had ended.
            None => record.remove(folder),
        }
    }
    let schema = SCHEMA.to_owned();
    Ok(RamDevices { schema, devices })
}

fn ram_device(roots: &Roots, record: &Record, info: DeviceInfo) -> RamDevice {
    let name = record.name();
    let alive = record.is_served(roots);
    let state = match (alive, record.holder.is_alive(roots)) {
        (true, _) => State::Served,
        (false, true) => State::Recoverable,
        (false, false) => State::Lost,
    };
    RamDevice {
        via: RamDeviceServer::Ublk,
        size: disk_size(roots, &name).unwrap_or(record.wanted.size),
        block: block_size(roots, &name).unwrap_or(record.wanted.block),
        queues: u32::from(info.queues),
        poll_queues: 0,
        depth: u32::from(info.depth),
        service: record.service.clone(),
        server: alive.then_some(record.server.pid),
        state,
        name,
    }
}

pub(crate) fn disk_size(roots: &Roots, name: &str) -> Option<Bytes> {
    attr::value(&roots.sys(&format!("block/{name}/size"))).map(|n| Sectors(n).bytes())
}

pub(crate) fn block_size(roots: &Roots, name: &str) -> Option<Bytes> {
    attr::value(&roots.sys(&format!("block/{name}/queue/logical_block_size"))).map(Bytes)
}

const MAX_WAIT: Duration = Duration::from_secs(20);

/// Deletes the device `name`, with its data.
pub fn delete(roots: &Roots, folder: &Path, name: &str) -> Result<(), Fault> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    if module::devices(roots).iter().any(|d| d.name == short) {
        refuse_used(roots, short, /* is_served */ true)?;
        return module::unload(roots, short);
    }
    let record = Record::find(folder, name)?;
    let is_served = record.is_served(roots);
    refuse_used(roots, short, is_served)?;
    if is_served {
        // The server deletes the device when it ends.
        signal(record.server.pid);
        wait_until_deleted(&record)?;
    } else {
        delete_unserved(&record)?;
    }
    record.remove(folder);
    if !is_served && record.holder.is_alive(roots) {
        signal(record.holder.pid);
    }
    Ok(())
}

/// Refuses a device that is in use. A served device is refused also when a process has it open
/// exclusively; without a server the attempt to open it would hang.
fn refuse_used(roots: &Roots, name: &str, is_served: bool) -> Result<(), Fault> {
    let path = PathBuf::from("/dev").join(name);
    let Ok(meta) = fs::metadata(&path) else {
        return Ok(());
    };
    let in_use = |reason: String| Fault::new(Exit::Target, format!("delete {name}: {reason}"));
    let id = FileId::Device(device_number(meta.rdev()));
    refuse_occupied(roots, &path, id).map_err(|e| in_use(e.to_string()))?;
    match is_served.then(|| attr::open(&path, /* write */ false, OFlags::EXCL)) {
        Some(Err(e)) => Err(in_use(format!("open it exclusively: {e}"))),
        _ => Ok(()),
    }
}

fn signal(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        kill_process(pid, Signal::TERM).ok();
    }
}

fn delete_unserved(record: &Record) -> Result<(), Fault> {
    let tried = format!("delete {}", record.name());
    let mut control = Control::open().or_fault(Exit::Environment, &tried)?;
    let deleted = delete_device(&mut control, record.id, Instant::now() + MAX_WAIT);
    deleted.or_fault(Exit::Environment, tried)?;
    wait_until_deleted(record)
}

fn wait_until_deleted(record: &Record) -> Result<(), Fault> {
    let file = PathBuf::from(format!("/dev/ublkc{}", record.id));
    if wait_until_gone(&file, Instant::now() + MAX_WAIT) {
        return Ok(());
    }
    let name = record.name();
    let text =
        format!("delete {name}: it is still there after 20 s; some process has its file open");
    Err(Fault::new(Exit::Target, text))
}

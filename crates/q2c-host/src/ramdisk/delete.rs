use crate::Roots;
use crate::block::device_number;
use crate::ramdisk::{Record, module};
use crate::target::{FileId, refuse_occupied};
use q2c_model::{Exit, Fault, OrFault};
use q2c_sys::ublk::Control;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// Deletes the device `name`, with its data.
pub fn delete(roots: &Roots, folder: &Path, name: &str) -> Result<(), Fault> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    if module::devices(roots).iter().any(|d| d.name == short) {
        refuse_used(roots, short, true)?;
        return module::unload(roots, short);
    }
    let record = Record::find(folder, name)?;
    let served = record.is_served(roots);
    refuse_used(roots, short, served)?;
    if served {
        end_server(&record)?;
    } else {
        delete_left(&record)?;
    }
    record.remove(folder);
    if !served && record.holder.is_alive(roots) {
        signal(record.holder.pid);
    }
    Ok(())
}

/// Refuses a device that is in use. `open`: also one that somebody has open exclusively. Opening a
/// device without a server would wait.
fn refuse_used(roots: &Roots, name: &str, open: bool) -> Result<(), Fault> {
    let path = PathBuf::from("/dev").join(name);
    let Ok(meta) = fs::metadata(&path) else {
        return Ok(());
    };
    let in_use = |reason: String| Fault::new(Exit::Target, format!("delete {name}: {reason}"));
    let id = FileId::Device(device_number(meta.rdev()));
    refuse_occupied(roots, &path, id).map_err(|e| in_use(e.to_string()))?;
    if open {
        let exclusive = OFlags::EXCL.bits() as i32;
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(exclusive).open(&path);
        opened.map_err(|e| in_use(format!("open it exclusively: {e}")))?;
    }
    Ok(())
}

fn signal(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        kill_process(pid, Signal::TERM).ok();
    }
}

/// Asks the server to end, which deletes the device, and waits for it.
fn end_server(record: &Record) -> Result<(), Fault> {
    signal(record.server.pid);
    wait_until_gone(record)
}

/// Deletes a device whose server has ended.
fn delete_left(record: &Record) -> Result<(), Fault> {
    let tried = format!("delete {}", record.name());
    let mut control = Control::open().or_fault(Exit::Environment, &tried)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match control
            .stop(record.id)
            .and_then(|()| control.delete(record.id))
        {
            Ok(()) => break,
            Err(e) if matches!(e.raw_os_error(), Some(19 | 22)) => break,
            Err(e) if Instant::now() >= until => {
                return Err(e).or_fault(Exit::Environment, tried);
            }
            Err(_) => thread::sleep(LOOK),
        }
    }
    wait_until_gone(record)
}

fn wait_until_gone(record: &Record) -> Result<(), Fault> {
    let file = PathBuf::from(format!("/dev/ublkc{}", record.id));
    let until = Instant::now() + PATIENCE;
    while file.exists() {
        if Instant::now() >= until {
            let name = record.name();
            let text = format!(
                "delete {name}: it is still there after 20 s; some process has its file open"
            );
            return Err(Fault::new(Exit::Target, text));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

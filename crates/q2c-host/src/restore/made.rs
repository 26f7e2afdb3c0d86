use super::{RestoreChange, UndoOutcome};
use crate::Roots;
use q2c_sys::ublk::Control;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// How long the kernel may take to end a server and to delete its device.
const DELETE_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The text of a token in the journal.
pub(super) fn token_text(token: u64) -> String {
    format!("ublk:{token:016x}")
}

/// The number in a path such as `/dev/ublkc7`.
fn device_number(file: &Path) -> Option<u32> {
    file.to_str()?.strip_prefix("/dev/ublkc")?.parse().ok()
}

/// Deletes the device of `change` where it is still the one that was made, and no other process
/// serves it.
pub(super) fn delete(roots: &Roots, change: &RestoreChange) -> UndoOutcome {
    let Some(id) = device_number(&change.file) else {
        return UndoOutcome::failed("the journal names no ublk device");
    };
    let mut control = match Control::open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return UndoOutcome::Gone,
        Err(e) => return UndoOutcome::failed(&e),
        Ok(control) => control,
    };
    let info = match control.info(id) {
        Err(e) if is_gone(&e) => return UndoOutcome::Gone,
        Err(e) => return UndoOutcome::failed(&e),
        Ok(info) => info,
    };
    let present = token_text(info.token);
    if present != change.written {
        return UndoOutcome::Foreign(present);
    }
    if let Some(server) = info.server
        && info.live
        && server != change.owner.pid
        && roots.proc(&format!("{server}/stat")).exists()
    {
        return UndoOutcome::Served(server);
    }
    let limit = Instant::now() + DELETE_TIMEOUT;
    match delete_device(&mut control, id, limit) {
        Ok(()) if wait_until_gone(&change.file, limit) => UndoOutcome::Deleted,
        Ok(()) => UndoOutcome::failed("some process still has its file open"),
        Err(e) => UndoOutcome::failed(&e),
    }
}

/// True if the device does not exist: ENODEV, or EINVAL for a number beyond all devices.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(19 | 22))
}

/// Deletes a ublk device. While the kernel is still ending the device's server, it refuses to stop
/// the device, so the step is repeated until `limit`.
pub(crate) fn delete_device(control: &mut Control, id: u32, limit: Instant) -> io::Result<()> {
    retry(limit, || {
        match control.stop(id).and_then(|()| control.delete(id)) {
            Err(e) if is_gone(&e) => Ok(()),
            done => done,
        }
    })
}

/// Repeats a step until it succeeds, or until `limit`, and then returns the last error.
pub(crate) fn retry<T>(limit: Instant, mut step: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match step() {
            Err(e) if Instant::now() >= limit => return Err(e),
            Err(_) => thread::sleep(RETRY_INTERVAL),
            done => return done,
        }
    }
}

/// Waits until the file of a device is gone. Returns false if it still exists at `limit`.
pub(crate) fn wait_until_gone(file: &Path, limit: Instant) -> bool {
    while file.exists() && Instant::now() < limit {
        thread::sleep(RETRY_INTERVAL);
    }
    !file.exists()
}

/// How long others, such as udev, may still look at a device that was closed a moment ago.
const UNLOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// The value in the journal until the module is loaded.
pub(super) const LOADING: &str = "loading";

/// The text of a loaded module in the journal: sysfs gives its folder a new inode at each loading.
pub(super) fn module_text(folder: &Path) -> io::Result<String> {
    Ok(format!("module:{}", fs::metadata(folder)?.ino()))
}

/// Unloads the module of `change` if it is still the one that was loaded. `values` hold the text of
/// the loaded module, unless the owner ended before writing it.
pub(super) fn unload(change: &RestoreChange, values: &[String]) -> UndoOutcome {
    let present = match module_text(&change.file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return UndoOutcome::Gone,
        Err(e) => return UndoOutcome::failed(&e),
        Ok(present) => present,
    };
    if !values.is_empty() && !values.contains(&present) {
        return UndoOutcome::Foreign(present);
    }
    let Some(name) = change.file.file_name() else {
        return UndoOutcome::failed("the journal names no module");
    };
    let removed = retry(Instant::now() + UNLOAD_TIMEOUT, || {
        let output = Command::new("rmmod").arg(name).output();
        let output = output.map_err(|error| io::Error::other(format!("run rmmod: {error}")))?;
        let complaint = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim());
        output.status.success().then_some(()).ok_or_else(complaint)
    });
    match removed {
        Ok(()) => UndoOutcome::Deleted,
        Err(reason) => UndoOutcome::failed(&reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore::{Guard, restore_all};

    #[test]
    fn only_paths_of_ublk_devices_have_a_number() {
        assert_eq!(device_number(Path::new("/dev/ublkc12")), Some(12));
        for wrong in ["/dev/ublkb1", "/dev/ublkc", "/dev/sda1", "ublkc1"] {
            assert_eq!(device_number(Path::new(wrong)), None, "{wrong}");
        }
    }

    /// Before the module is loaded there is nothing to unload, and a different module is left
    /// alone. Unloading itself is tested in a guest.
    #[test]
    fn only_the_module_that_was_loaded_is_unloaded() {
        let dir = tempfile::tempdir().unwrap();
        let (roots, journal) = (Roots::live(), dir.path().join("journal"));
        let mut guard = Guard::new(&roots, &journal).unwrap();
        let module_folder = dir.path().join("module/made_up");
        guard.module(&module_folder).unwrap();
        let second = Guard::new(&roots, &journal).unwrap().module(&module_folder);
        assert!(second.unwrap_err().to_string().contains("holds"));
        assert_eq!(guard.undo(), [(module_folder.clone(), UndoOutcome::Gone)]);

        fs::create_dir_all(&module_folder).unwrap();
        guard.module(&module_folder).unwrap();
        guard.note_loaded_module().unwrap();
        // While the first folder is there, the next one has another inode.
        fs::rename(&module_folder, dir.path().join("earlier")).unwrap();
        fs::create_dir_all(&module_folder).unwrap();
        let present = module_text(&module_folder).unwrap();
        let expected = [(module_folder, UndoOutcome::Foreign(present))];
        assert_eq!(guard.undo(), expected);
        assert!(restore_all(&roots, &journal).unwrap().is_complete());
    }
}

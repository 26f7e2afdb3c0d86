use super::{RestoreChange, UndoOutcome};
use crate::Roots;
use q2c_sys::ublk::{Control, DeviceInfo};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long the kernel may take to end a server and to delete its device.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// The token as the journal has it.
pub(super) fn words(token: u64) -> String {
    format!("ublk:{token:016x}")
}

/// The number in a path such as `/dev/ublkc7`.
fn number(file: &Path) -> Option<u32> {
    file.to_str()?.strip_prefix("/dev/ublkc")?.parse().ok()
}

/// Deletes the device of `change` where it is still the one that was made, and no other process
/// serves it.
pub(super) fn delete(roots: &Roots, change: &RestoreChange) -> UndoOutcome {
    let Some(id) = number(&change.file) else {
        return UndoOutcome::Failed {
            why: "the journal names no ublk device".into(),
        };
    };
    let mut control = match Control::open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return UndoOutcome::Gone,
        Err(e) => return failed(&e),
        Ok(control) => control,
    };
    let info = match control.info(id) {
        Err(e) if is_gone(&e) => return UndoOutcome::Gone,
        Err(e) => return failed(&e),
        Ok(info) => info,
    };
    match not_ours(roots, change, &info) {
        Some(outcome) => outcome,
        None => delete_ours(&mut control, id, &change.file),
    }
}

/// ENODEV for a number without a device, EINVAL for one beyond all devices.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(19 | 22))
}

fn failed(error: &io::Error) -> UndoOutcome {
    UndoOutcome::Failed {
        why: error.to_string(),
    }
}

/// Why the device is left as it is: it is not the one of `change`, or has another server now.
fn not_ours(roots: &Roots, change: &RestoreChange, info: &DeviceInfo) -> Option<UndoOutcome> {
    let present = words(info.token);
    if present != change.written {
        return Some(UndoOutcome::Foreign { present });
    }
    let server = info.server.filter(|&pid| pid != change.owner.pid)?;
    let lives = roots.proc(&format!("{server}/stat")).exists();
    (info.live && lives).then_some(UndoOutcome::Served { server })
}

fn delete_ours(control: &mut Control, id: u32, file: &Path) -> UndoOutcome {
    let end = Instant::now() + PATIENCE;
    // The kernel may still be ending the server, and refuses to stop the device until it has.
    loop {
        let done = control.stop(id).and_then(|()| control.delete(id));
        match done {
            Ok(()) => break,
            Err(e) if is_gone(&e) => break,
            Err(e) if Instant::now() >= end => return failed(&e),
            Err(_) => thread::sleep(LOOK),
        }
    }
    while file.exists() && Instant::now() < end {
        thread::sleep(LOOK);
    }
    if file.exists() {
        UndoOutcome::Failed {
            why: "some process still has its file open".into(),
        }
    } else {
        UndoOutcome::Deleted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_ublk_devices_have_a_number() {
        assert_eq!(number(Path::new("/dev/ublkc12")), Some(12));
        for wrong in ["/dev/ublkb1", "/dev/ublkc", "/dev/sda1", "ublkc1"] {
            assert_eq!(number(Path::new(wrong)), None, "{wrong}");
        }
    }
}

//! Finds out which files and devices stand under loop devices.

use super::{FileId, TargetError};
use crate::block::{device_number, parse_dev};
use crate::{Roots, attr};
use q2c_model::DevId;
use q2c_sys::loop_device::{Backing, backing};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the kernel appends to the name of a file that was removed.
const REMOVED: &[u8] = b" (deleted)";

/// The loop devices that have a file, and what is known of it.
pub(super) struct Loops {
    known: Vec<Known>,
    unclear: Vec<Unclear>,
}

/// A loop device over a file or device that is known.
struct Known {
    under: FileId,
    name: String,
    dev: Option<DevId>,
}

/// A loop device that may not be asked, over a file whose name was removed. The file may have
/// another name still.
struct Unclear {
    name: String,
    /// The file has at least so many bytes.
    least: u64,
}

impl Loops {
    /// Reads the loop devices among `disks`, the entries of sysfs' folder `block`.
    ///
    /// A device is asked itself, as the numbers of a file hold where its name was removed. Where it
    /// may not be opened, which takes root, the name that sysfs has is looked up.
    pub(crate) fn read(roots: &Roots, disks: &[PathBuf]) -> Loops {
        let mut loops = Loops {
            known: Vec::new(),
            unclear: Vec::new(),
        };
        for disk in disks {
            // White space belongs to the name, but for the line's end.
            let Ok(named) = fs::read(disk.join("loop/backing_file")) else {
                continue;
            };
            let named = named.strip_suffix(b"\n").unwrap_or(&named);
            let name = attr::name(disk);
            let asked = ask(roots, disk, &name).map(FileId::from);
            let id = asked.or_else(|| FileId::from_path(Path::new(OsStr::from_bytes(named))));
            match id {
                Some(under) => loops.known.push(Known {
                    under,
                    name,
                    dev: attr::text(&disk.join("dev")).and_then(|text| parse_dev(&text)),
                }),
                None if named.ends_with(REMOVED) => loops.unclear.push(Unclear {
                    least: least(disk),
                    name,
                }),
                // The name is one of another mount namespace.
                None => {}
            }
        }
        loops
    }

    /// The use of a file or device by a loop device, in words; `None` if there is none.
    pub(crate) fn over(&self, id: FileId) -> Option<String> {
        let over = self.known.iter().find(|known| known.under == id)?;
        Some(format!("backs the loop device {}", over.name))
    }

    /// The file or device under the loop device `dev`; `None` for any other device.
    pub(crate) fn under(&self, dev: DevId) -> Option<FileId> {
        let known = self.known.iter().find(|known| known.dev == Some(dev))?;
        Some(known.under)
    }

    pub(crate) fn forget(&mut self, dev: DevId) {
        self.known.retain(|known| known.dev != Some(dev));
    }

    /// Refuses a file that may be the one under a loop device that cannot be asked.
    pub(crate) fn refuse_unclear(&self, path: &Path, id: FileId) -> Result<(), TargetError> {
        let size = match id {
            FileId::File { .. } => fs::metadata(path).map_or(u64::MAX, |meta| meta.len()),
            _ => return Ok(()),
        };
        let Some(unclear) = self.unclear.iter().find(|unclear| size >= unclear.least) else {
            return Ok(());
        };
        Err(TargetError::UnknownUse {
            path: path.to_owned(),
            what: format!("the file under /dev/{}", unclear.name),
            source: io::Error::new(
                io::ErrorKind::PermissionDenied,
                "its name was removed and the device cannot be opened; run as root, or detach it",
            ),
        })
    }
}

impl From<Backing> for FileId {
    fn from(Backing { dev, ino, rdev }: Backing) -> FileId {
        match rdev {
            0 => FileId::File { dev, ino },
            // A loop device stands on a regular file or a block device.
            rdev => FileId::Device(device_number(rdev)),
        }
    }
}

/// Asks the loop device; `None` where its node cannot be opened or is another device's.
fn ask(roots: &Roots, disk: &Path, name: &str) -> Option<Backing> {
    let number = parse_dev(&attr::text(&disk.join("dev"))?)?;
    let node = File::open(roots.dev.join(name)).ok()?;
    let opened = device_number(node.metadata().ok()?.rdev());
    backing(&node).ok().filter(|_| opened == number)
}

/// The least size of the file under a loop device, bytes: the device's offset and size.
fn least(disk: &Path) -> u64 {
    let value = |name: &str| attr::value::<u64>(&disk.join(name)).unwrap_or(0);
    let sectors = value("size");
    value("loop/offset").saturating_add(sectors.saturating_mul(512))
}

use super::{FileId, Result, TargetError};
use crate::block::{device_number, number_of, parse_dev};
use crate::{Roots, attr};
use q2c_model::DevId;
use q2c_sys::loop_device::{Backing, backing};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind::NotFound};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Refuses a device or file that is in use, and a device that is read-only. A device is in use when
/// it is mounted, is swap, or backs a loop device. The same holds for its partitions, the disk that
/// it is a partition of, and devices that stand on one of these (dm, md). A file is in use when it
/// is swap or backs a loop device. The file or device under a loop device must not be in use by
/// anything else either. For a namespace's character device ask about its block device.
///
/// A mount in another mount namespace is not seen here. Opening the device exclusively, as
/// [`super::open()`] does, finds it.
pub fn refuse_occupied(roots: &Roots, path: &Path, id: FileId) -> Result<()> {
    let users = DeviceUsers::read(roots, path)?;
    users.loops.refuse_unclear(path, id)?;
    let usage = if let FileId::Device(dev) = id {
        refuse_read_only(roots, path, dev)?;
        match users.family_use(&family(roots, path, dev)?) {
            None => use_below(roots, path, dev, users)?,
            usage => usage,
        }
    } else {
        users.file_use(id).map(|usage| format!("it {usage}"))
    };
    usage.map_or(Ok(()), |usage| {
        Err(TargetError::Occupied(path.to_owned(), usage))
    })
}

/// The other use of the file or device under the loop device `dev`, in words. `None` if there is
/// none, or if `dev` is neither a loop device nor a partition of one.
fn use_below(
    roots: &Roots,
    path: &Path,
    dev: DevId,
    mut users: DeviceUsers,
) -> Result<Option<String>> {
    let mut disk = whole_disk(roots, dev);
    // A loop device may stand on another one. Each is forgotten once it was looked at, so that the
    // search has an end.
    while let Some(under) = users.loops.under(disk) {
        users.loops.forget(disk);
        let usage = match under {
            FileId::Device(device) => users.family_use(&family(roots, path, device)?),
            _ => users.file_use(under).map(|text| format!("its file {text}")),
        };
        if let Some(usage) = usage {
            return Ok(Some(format!("stands on what is in use: {usage}")));
        }
        let FileId::Device(device) = under else {
            break;
        };
        disk = whole_disk(roots, device);
    }
    Ok(None)
}

/// The disk of a partition; any other device itself.
fn whole_disk(roots: &Roots, dev: DevId) -> DevId {
    let disk = || {
        let dir = fs::canonicalize(roots.sys(&format!("dev/block/{dev}"))).ok()?;
        number_of(disk_of_partition(&dir)?)
    };
    disk().unwrap_or(dev)
}

/// The folder of the disk that the partition with the folder `dir` belongs to; `None` for a device
/// that is no partition.
fn disk_of_partition(dir: &Path) -> Option<&Path> {
    dir.parent().filter(|_| dir.join("partition").exists())
}

/// All mounts, swap areas and loop devices that the kernel names.
struct DeviceUsers {
    mounts: Vec<(DevId, String)>,
    swaps: Vec<FileId>,
    loops: Loops,
}

impl DeviceUsers {
    fn read(roots: &Roots, target: &Path) -> Result<DeviceUsers> {
        let text = |name: &str| {
            let file = roots.proc(name);
            fs::read_to_string(&file).map_err(|e| unknown(target, file.display(), e))
        };
        let mounts = text("self/mountinfo")?;
        let mounts = mounts.lines().flat_map(mount_use).collect();
        // A kernel without swap has no file `swaps`.
        let swaps = match text("swaps") {
            Err(TargetError::UnknownUse(.., e)) if e.kind() == NotFound => String::new(),
            read => read?,
        };
        let blocks = roots.sys("block");
        fs::read_dir(&blocks).map_err(|e| unknown(target, blocks.display(), e))?;
        Ok(DeviceUsers {
            mounts,
            swaps: swaps.lines().skip(1).filter_map(swap).collect(),
            loops: Loops::read(roots, &attr::entries(&blocks)),
        })
    }

    fn device_use(&self, dev: DevId) -> Option<String> {
        let mount = self.mounts.iter().find(|(d, _)| *d == dev);
        let usage = mount.map(|(_, usage)| usage.clone());
        usage.or_else(|| self.file_use(FileId::Device(dev)))
    }

    /// The use of one of these devices, in words.
    fn family_use(&self, family: &[(DevId, String)]) -> Option<String> {
        let mut family = family.iter();
        family.find_map(|(dev, name)| Some(format!("{name} {}", self.device_use(*dev)?)))
    }

    fn file_use(&self, id: FileId) -> Option<String> {
        if self.swaps.contains(&id) {
            return Some("is in use as swap".to_owned());
        }
        self.loops.use_as_backing(id)
    }
}

/// The devices that a line of mountinfo names, with the use. It names the device twice: as a
/// number, which is anonymous for btrfs, and as the mount's source.
fn mount_use(line: &str) -> Vec<(DevId, String)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let (Some(number), Some(point)) = (fields.get(2), fields.get(4)) else {
        return Vec::new();
    };
    let usage = format!("is mounted at {}", unescape(point));
    let dash = fields.iter().position(|f| *f == "-");
    let source = dash.and_then(|i| fields.get(i + 2));
    let by_source = source.and_then(|s| device_at(Path::new(&unescape(s))));
    let devices = parse_dev(number).into_iter().chain(by_source);
    devices.map(|dev| (dev, usage.clone())).collect()
}

fn device_at(path: &Path) -> Option<DevId> {
    let meta = fs::metadata(path).ok()?;
    let is_device = meta.file_type().is_block_device();
    is_device.then(|| device_number(meta.rdev()))
}

fn swap(line: &str) -> Option<FileId> {
    FileId::from_path(Path::new(&unescape(line.split_whitespace().next()?)))
}

/// Decodes the octal escapes by which procfs writes spaces and other characters in paths, such as
/// `\040`.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let mut unread = text.as_bytes();
    while let Some((&first, tail)) = unread.split_first() {
        let escaped = || {
            let digits = std::str::from_utf8(tail.get(..3)?).ok()?;
            u8::from_str_radix(digits, 8).ok()
        };
        let byte = escaped().filter(|_| first == b'\\');
        out.push(byte.unwrap_or(first));
        unread = if byte.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Refuses a device that the kernel marks as read-only, or a partition of such a disk. Opening it
/// for writing would succeed, but each write would fail.
fn refuse_read_only(roots: &Roots, path: &Path, dev: DevId) -> Result<()> {
    let Ok(dir) = fs::canonicalize(roots.sys(&format!("dev/block/{dev}"))) else {
        return Ok(());
    };
    let mut dirs = std::iter::once(dir.as_path()).chain(disk_of_partition(&dir));
    let read_only = dirs.find(|dir| attr::value(&dir.join("ro")) == Some(1));
    read_only.map_or(Ok(()), |dir| {
        Err(TargetError::ReadOnly(path.to_owned(), attr::name(dir)))
    })
}

/// Numbers and names of the device, its partitions, its whole disk, and all devices that stand on
/// one of these.
fn family(roots: &Roots, target: &Path, dev: DevId) -> Result<Vec<(DevId, String)>> {
    let link = roots.sys(&format!("dev/block/{dev}"));
    let dir = fs::canonicalize(&link).map_err(|e| unknown(target, link.display(), e))?;
    let mut members = vec![(dev, attr::name(&dir))];
    if let Some(disk) = disk_of_partition(&dir) {
        // The disk itself and the devices that stand on the whole of it, but not its other
        // partitions.
        members.extend(number_and_name(disk));
        join_holders(disk, &mut members);
    }
    join_holders(&dir, &mut members);
    let inner = attr::entries(&dir);
    for partition in inner.iter().filter(|d| d.join("partition").exists()) {
        members.extend(number_and_name(partition));
        join_holders(partition, &mut members);
    }
    Ok(members)
}

fn join_holders(dir: &Path, members: &mut Vec<(DevId, String)>) {
    let holders = attr::entries(&dir.join("holders"));
    for holder in holders.iter().filter_map(|h| fs::canonicalize(h).ok()) {
        if let Some(member) = number_and_name(&holder).filter(|member| !members.contains(member)) {
            members.push(member);
            join_holders(&holder, members);
        }
    }
}

fn number_and_name(dir: &Path) -> Option<(DevId, String)> {
    Some((number_of(dir)?, attr::name(dir)))
}

fn unknown(target: &Path, what: impl std::fmt::Display, source: io::Error) -> TargetError {
    TargetError::UnknownUse(target.to_owned(), what.to_string(), source)
}

/// The text that the kernel appends to the name of a file that was removed.
const REMOVED_SUFFIX: &[u8] = b" (deleted)";

/// The loop devices with a backing file, and the facts that are known of that file.
#[derive(Default)]
struct Loops {
    devices: Vec<LoopDevice>,
    /// Loop devices that cannot be opened, over a file whose name was removed but which may have
    /// another name. Each has the least size of that file in bytes.
    unclear: Vec<(String, u64)>,
}

/// A loop device over a file or device that is known.
struct LoopDevice {
    under: FileId,
    name: String,
    dev: Option<DevId>,
}

impl Loops {
    /// Reads the loop devices among `disks`, the entries of sysfs' folder `block`.
    ///
    /// The device itself is asked first: it knows the file's numbers, even if the name was removed.
    /// If it cannot be opened, which takes root, the name in sysfs is looked up.
    fn read(roots: &Roots, disks: &[PathBuf]) -> Loops {
        let mut loops = Loops::default();
        for disk in disks {
            // White space belongs to the name, except for the end of the line.
            let Ok(backing) = fs::read(disk.join("loop/backing_file")) else {
                continue;
            };
            let backing = backing.strip_suffix(b"\n").unwrap_or(&backing);
            let name = attr::name(disk);
            let by_name = || FileId::from_path(Path::new(OsStr::from_bytes(backing)));
            let dev = number_of(disk);
            match backing_file_of(roots, dev, &name).or_else(by_name) {
                Some(under) => loops.devices.push(LoopDevice { under, name, dev }),
                None if backing.ends_with(REMOVED_SUFFIX) => {
                    loops.unclear.push((name, min_size(disk)))
                }
                // The name is one of another mount namespace.
                None => {}
            }
        }
        loops
    }

    /// The use of a file or device by a loop device, in words; `None` if there is none.
    fn use_as_backing(&self, id: FileId) -> Option<String> {
        let device = self.devices.iter().find(|device| device.under == id)?;
        Some(format!("backs the loop device {}", device.name))
    }

    /// The file or device under the loop device `dev`; `None` for any other device.
    fn under(&self, dev: DevId) -> Option<FileId> {
        let mut devices = self.devices.iter();
        let device = devices.find(|device| device.dev == Some(dev))?;
        Some(device.under)
    }

    fn forget(&mut self, dev: DevId) {
        self.devices.retain(|device| device.dev != Some(dev));
    }

    /// Refuses a file that may be the one under a loop device that cannot be asked.
    fn refuse_unclear(&self, path: &Path, id: FileId) -> Result<()> {
        let FileId::File { .. } = id else {
            return Ok(());
        };
        let size = fs::metadata(path).map_or(u64::MAX, |meta| meta.len());
        let Some((name, _)) = self.unclear.iter().find(|(_, min)| size >= *min) else {
            return Ok(());
        };
        let reason =
            "its name was removed and the device cannot be opened; run as root, or detach it";
        let source = io::Error::new(io::ErrorKind::PermissionDenied, reason);
        Err(unknown(path, format!("the file under /dev/{name}"), source))
    }
}

/// Asks the loop device for its file; `None` if its node cannot be opened or is another device's.
fn backing_file_of(roots: &Roots, number: Option<DevId>, name: &str) -> Option<FileId> {
    let node = File::open(roots.dev.join(name)).ok()?;
    let opened = device_number(node.metadata().ok()?.rdev());
    let Backing { dev, ino, rdev } = backing(&node).ok().filter(|_| Some(opened) == number)?;
    Some(match rdev {
        0 => FileId::File { dev, ino },
        // A loop device stands on a regular file or a block device.
        rdev => FileId::Device(device_number(rdev)),
    })
}

/// Smallest possible size in bytes of the file under a loop device: its offset plus its size.
fn min_size(disk: &Path) -> u64 {
    let value = |name: &str| attr::value::<u64>(&disk.join(name)).unwrap_or(0);
    let sectors = value("size");
    value("loop/offset").saturating_add(sectors.saturating_mul(512))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_paths() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
        assert_eq!(unescape("/plain\\09"), "/plain\\09");
    }

    #[test]
    fn mountinfo_lines() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/q2c-none rw";
        let (major, minor) = (98, 0);
        let usage = "is mounted at /mnt 2".to_owned();
        assert_eq!(mount_use(line), [(DevId { major, minor }, usage)]);
        assert!(mount_use("").is_empty());
    }
}

use super::loops::Loops;
use super::{FileId, TargetError};
use crate::block::{device_number, parse_dev};
use crate::{Roots, attr};
use q2c_model::DevId;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Refuses a device or file that is in use, and a device that is read-only. A device is in use when
/// it, one of its partitions, the disk that it is a partition of, or a device that stands on one of
/// these (dm, md) is mounted, is swap, or backs a loop device. A file is in use when it is swap or
/// backs a loop device. What a loop device stands on must not be in use by anything else either.
/// For a namespace's character device ask about the block device of the same namespace.
///
/// A mount in another mount namespace is not seen here. Opening the device exclusively, as
/// [`super::open()`] does, finds it.
pub fn refuse_occupied(roots: &Roots, path: &Path, id: FileId) -> Result<(), TargetError> {
    let users = Users::read(roots, path)?;
    users.loops.refuse_unclear(path, id)?;
    let usage = match id {
        FileId::Device(dev) => {
            refuse_read_only(roots, path, dev)?;
            let family_usage = users.of_family(&family(roots, path, dev)?);
            match family_usage {
                Some(used) => Some(used),
                None => below(roots, path, dev, users)?,
            }
        }
        FileId::File { .. } | FileId::Character(_) => {
            users.of_file(id).map(|used| format!("it {used}"))
        }
    };
    match usage {
        Some(usage) => Err(TargetError::Occupied {
            path: path.to_owned(),
            found: usage,
        }),
        None => Ok(()),
    }
}

/// The use of what the loop device `dev` stands on, by anything but `dev`, in words; `None` where
/// there is none, or where `dev` is no loop device, and no partition of one.
fn below(
    roots: &Roots,
    path: &Path,
    dev: DevId,
    mut users: Users,
) -> Result<Option<String>, TargetError> {
    let mut at = whole_disk(roots, dev);
    // A loop device may stand on another one. Each is left out once it was looked at, so that a
    // chain has an end.
    while let Some(under) = users.loops.under(at) {
        users.loops.forget(at);
        let used = match under {
            FileId::Device(device) => users.of_family(&family(roots, path, device)?),
            _ => users.of_file(under).map(|used| format!("its file {used}")),
        };
        if let Some(used) = used {
            return Ok(Some(format!("stands on what is in use: {used}")));
        }
        let FileId::Device(device) = under else {
            break;
        };
        at = whole_disk(roots, device);
    }
    Ok(None)
}

/// The disk of a partition; any other device itself.
fn whole_disk(roots: &Roots, dev: DevId) -> DevId {
    let disk = || {
        let dir = fs::canonicalize(roots.sys(&format!("dev/block/{dev}"))).ok()?;
        Some(number(disk_of_partition(&dir)?)?.0)
    };
    disk().unwrap_or(dev)
}

/// The folder of the disk that the partition with the folder `dir` belongs to; `None` for a device
/// that is no partition.
fn disk_of_partition(dir: &Path) -> Option<&Path> {
    dir.parent().filter(|_| dir.join("partition").exists())
}

/// All mounts, swap areas and loop devices that the kernel names.
struct Users {
    mounts: Vec<(DevId, String)>,
    swaps: Vec<(FileId, String)>,
    loops: Loops,
}

impl Users {
    fn read(roots: &Roots, target: &Path) -> Result<Users, TargetError> {
        let text = |name: &str| {
            let file = roots.proc(name);
            fs::read_to_string(&file).map_err(|e| unknown(target, file.display(), e))
        };
        let mounts = text("self/mountinfo")?.lines().flat_map(mounted).collect();
        let swaps: Vec<(FileId, String)> = match text("swaps") {
            // A kernel without swap has no file `swaps`.
            Err(TargetError::UnknownUse { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                vec![]
            }
            read => read?.lines().skip(1).filter_map(swap).collect(),
        };
        let blocks = roots.sys("block");
        fs::read_dir(&blocks).map_err(|e| unknown(target, blocks.display(), e))?;
        Ok(Users {
            mounts,
            swaps,
            loops: Loops::read(roots, &attr::entries(&blocks)),
        })
    }

    fn of_device(&self, dev: DevId) -> Option<String> {
        let mount = self.mounts.iter().find(|(d, _)| *d == dev);
        let mounted = mount.map(|(_, used)| used.clone());
        mounted.or_else(|| self.of_file(FileId::Device(dev)))
    }

    /// The use of one of these devices, in words.
    fn of_family(&self, family: &[(DevId, String)]) -> Option<String> {
        let used =
            |(dev, name): &(DevId, String)| Some(format!("{name} {}", self.of_device(*dev)?));
        family.iter().find_map(used)
    }

    fn of_file(&self, id: FileId) -> Option<String> {
        let swap = self.swaps.iter().find(|(file, _)| *file == id);
        swap.map(|(_, used)| used.clone())
            .or_else(|| self.loops.over(id))
    }
}

/// The devices that a line of mountinfo names, with the use. It names the device twice: as a
/// number, which is anonymous for btrfs, and as the mount's source.
fn mounted(line: &str) -> Vec<(DevId, String)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let (Some(number), Some(point)) = (fields.get(2), fields.get(4)) else {
        return Vec::new();
    };
    let used = format!("is mounted at {}", unescape(point));
    let dash = fields.iter().position(|f| *f == "-");
    let source = dash.and_then(|i| fields.get(i + 2));
    let by_source = source.and_then(|s| device_at(Path::new(&unescape(s))));
    let devices = parse_dev(number).into_iter().chain(by_source);
    devices.map(|dev| (dev, used.clone())).collect()
}

fn device_at(path: &Path) -> Option<DevId> {
    let meta = fs::metadata(path).ok()?;
    let is_one = meta.file_type().is_block_device();
    is_one.then(|| device_number(meta.rdev()))
}

fn swap(line: &str) -> Option<(FileId, String)> {
    let name = unescape(line.split_whitespace().next()?);
    let id = FileId::from_path(Path::new(&name))?;
    Some((id, "is in use as swap".to_owned()))
}

/// Decodes the octal escapes by which procfs writes spaces and other characters in paths, such as
/// `\040`.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        match (first, octal) {
            (b'\\', Some(byte)) => {
                out.push(byte);
                rest = &tail[3..];
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Refuses a device, or a partition of a disk, that the kernel takes no writes for. Opening it for
/// writing succeeds, and each write fails.
fn refuse_read_only(roots: &Roots, path: &Path, dev: DevId) -> Result<(), TargetError> {
    let Ok(dir) = fs::canonicalize(roots.sys(&format!("dev/block/{dev}"))) else {
        return Ok(());
    };
    let mut dirs = std::iter::once(dir.as_path()).chain(disk_of_partition(&dir));
    match dirs.find(|dir| attr::value(&dir.join("ro")) == Some(1)) {
        Some(read_only) => Err(TargetError::ReadOnly {
            path: path.to_owned(),
            device: attr::name(read_only),
        }),
        None => Ok(()),
    }
}

/// Numbers and names of the device, its partitions, its whole disk, and all devices that stand on
/// one of these.
fn family(roots: &Roots, target: &Path, dev: DevId) -> Result<Vec<(DevId, String)>, TargetError> {
    let link = roots.sys(&format!("dev/block/{dev}"));
    let dir = fs::canonicalize(&link).map_err(|e| unknown(target, link.display(), e))?;
    let mut members = vec![(dev, attr::name(&dir))];
    if let Some(disk) = disk_of_partition(&dir) {
        // The disk itself and the devices that stand on the whole of it, but not its other
        // partitions.
        members.extend(number(disk));
        join_holders(disk, &mut members);
    }
    join_holders(&dir, &mut members);
    let inner = attr::entries(&dir);
    for partition in inner.iter().filter(|d| d.join("partition").exists()) {
        members.extend(number(partition));
        join_holders(partition, &mut members);
    }
    Ok(members)
}

fn join_holders(dir: &Path, members: &mut Vec<(DevId, String)>) {
    let holders = attr::entries(&dir.join("holders"));
    for holder in holders.iter().filter_map(|h| fs::canonicalize(h).ok()) {
        let known = number(&holder).filter(|m| !members.contains(m));
        if let Some(member) = known {
            members.push(member);
            join_holders(&holder, members);
        }
    }
}

fn number(dir: &Path) -> Option<(DevId, String)> {
    Some((parse_dev(&attr::text(&dir.join("dev"))?)?, attr::name(dir)))
}

fn unknown(target: &Path, what: impl std::fmt::Display, source: io::Error) -> TargetError {
    TargetError::UnknownUse {
        path: target.to_owned(),
        what: what.to_string(),
        source,
    }
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
        let used = "is mounted at /mnt 2".to_owned();
        assert_eq!(mounted(line), [(DevId { major, minor }, used)]);
        assert!(mounted("").is_empty());
    }
}

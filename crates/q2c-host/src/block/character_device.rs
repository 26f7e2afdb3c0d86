//! Pairs the character device of an NVMe namespace (`/dev/ng0n1`) with the block device of the same
//! namespace.
//!
//! Both devices have their folders in one sysfs folder: the controller's, or the subsystem's if the
//! namespace has several paths. Their names end with the same `n` and number. The numbers
//! before the `n` can differ: one counts controllers, the other may count subsystems. Therefore the
//! counterpart is searched for in that folder, never by name alone.

use super::target_disk::number_of;
use super::{Disk, TargetDisk};
use crate::{Roots, attr};
use q2c_model::DevId;
use std::fs;
use std::path::{Path, PathBuf};

/// The character device of an NVMe namespace, and its block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharacterDevice {
    /// Kernel name: `ng0n1`.
    pub name: String,
    /// Device number of the character device.
    pub dev: DevId,
    /// Kernel name and number of the namespace's block device; `None` where sysfs shows none.
    pub block: Option<(String, DevId)>,
}

/// Why no character device was found for a disk.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoCharacterDevice {
    /// The named disk is not an NVMe namespace.
    #[error("find the NVMe character device of {0}: it is no NVMe namespace")]
    OtherDriver(String),
    #[error(
        "find the NVMe character device of {partition}: it is a partition, and commands address the whole namespace; name {disk}"
    )]
    Partition { partition: String, disk: String },
    /// The kernel made no character device for the named disk.
    #[error(
        "find the NVMe character device of {0}: sysfs shows none beside it; Linux 5.13 brought them, and commands by io_uring 5.19"
    )]
    NotThere(String),
}

impl CharacterDevice {
    /// The path at which udev and devtmpfs put the character device.
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// Finds the namespace whose character device has the number `dev`; `None` if `dev` is another
    /// kind of device.
    pub fn from_number(roots: &Roots, dev: DevId) -> Option<CharacterDevice> {
        let dir = fs::canonicalize(roots.sys(&format!("dev/char/{dev}"))).ok()?;
        let name = attr::name(&dir);
        let namespace = namespace(&name, "ng")?;
        let block = siblings(&dir).find_map(|disk| namespace_device(&disk, "nvme", namespace));
        Some(CharacterDevice { name, dev, block })
    }

    /// Finds the character device of the NVMe namespace `target_disk`.
    pub fn from_disk(target_disk: &TargetDisk) -> Result<CharacterDevice, NoCharacterDevice> {
        let Disk { name, dev, dir } = &target_disk.disk;
        let disk = name.clone();
        let Some(namespace) = namespace(name, "nvme") else {
            return Err(NoCharacterDevice::OtherDriver(disk));
        };
        if let Some(partition) = target_disk.partition.clone() {
            return Err(NoCharacterDevice::Partition { partition, disk });
        }
        let device = siblings(dir).find_map(|other| namespace_device(&other, "ng", namespace));
        let not_there = || NoCharacterDevice::NotThere(disk.clone());
        let (name, number) = device.ok_or_else(not_there)?;
        let (dev, block) = (number, Some((disk, *dev)));
        Ok(CharacterDevice { name, dev, block })
    }
}

/// The namespace number in a name of the form `prefix`, digits, `n`, digits. `None` for other
/// names, including those of hidden paths (`nvme0c1n1`).
fn namespace<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (controller, namespace) = name.strip_prefix(prefix)?.split_once('n')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(controller) && is_number(namespace)).then_some(namespace)
}

/// Sibling folders of a device in sysfs. Older kernels put character devices one folder deeper,
/// below `nvme-generic`, and disks below `block`; both places are included.
fn siblings(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let is_class = |path: &Path| matches!(attr::name(path).as_str(), "block" | "nvme-generic");
    let mut above = dir.parent().unwrap_or(dir);
    if is_class(above) {
        above = above.parent().unwrap_or(above);
    }
    let folders = ["", "block", "nvme-generic"].map(|below| above.join(below));
    folders.into_iter().flat_map(|dir| attr::entries(&dir))
}

/// Name and number of the device in `dir`, if it has this prefix and namespace number.
fn namespace_device(dir: &Path, prefix: &str, wanted: &str) -> Option<(String, DevId)> {
    let name = attr::name(dir);
    let fits = namespace(&name, prefix) == Some(wanted);
    Some((name, number_of(dir).filter(|_| fits)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_namespaces() {
        for (name, prefix, wanted) in [
            ("ng0n1", "ng", Some("1")),
            ("nvme10n23", "nvme", Some("23")),
            ("nvme0c1n1", "nvme", None),
            ("nvme0n1p2", "nvme", None),
            ("nvme0", "nvme", None),
            ("ng0n", "ng", None),
            ("nbd0", "ng", None),
        ] {
            assert_eq!(namespace(name, prefix), wanted, "{name}");
        }
    }
}

//! NVMe namespaces by their character device (`/dev/ng0n1`), and the block device of the same namespace.
//!
//! Both stand in one folder of sysfs, the controller's, or the subsystem's where the namespace has several paths, and end with the
//! same `n` and number. Their first numbers can differ: one counts controllers, the other may count subsystems. Therefore siblings are
//! found by folder, never by name alone.

use super::leaf::parse_dev;
use super::{Disk, Leaf};
use crate::{Roots, attr};
use q2c_model::DevId;
use std::fs;
use std::path::{Path, PathBuf};

/// A namespace's character device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generic {
    /// Kernel name: `ng0n1`.
    pub name: String,
    /// Its number, as a character device.
    pub dev: DevId,
    /// Kernel name and number of the namespace's block device; none where sysfs shows none.
    pub block: Option<(String, DevId)>,
}

/// Why a disk has no such device.
#[derive(Debug, thiserror::Error)]
pub enum NoGeneric {
    /// Not NVMe.
    #[error("find the NVMe character device of {0}: it is no NVMe namespace")]
    OtherDriver(String),
    /// A part of the namespace.
    #[error(
        "find the NVMe character device of {partition}: it is a partition, and commands address the whole namespace; name {disk}"
    )]
    Partition {
        /// Its name.
        partition: String,
        /// The namespace's block device.
        disk: String,
    },
    /// The kernel made none.
    #[error(
        "find the NVMe character device of {0}: sysfs shows none beside it; Linux 5.13 brought them, and commands by io_uring 5.19"
    )]
    NotThere(String),
}

impl Generic {
    /// Where udev and devtmpfs put it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// The one with this number; `None` when the number is of another kind of device.
    #[must_use]
    pub fn of_number(roots: &Roots, dev: DevId) -> Option<Generic> {
        let dir = fs::canonicalize(roots.sys(&format!("dev/char/{dev}"))).ok()?;
        let name = attr::name(&dir);
        let namespace = namespace(&name, "ng")?;
        let block = siblings(&dir).find_map(|disk| is_of(&disk, "nvme", namespace));
        Some(Generic { name, dev, block })
    }

    /// The one of the namespace that a disk is.
    ///
    /// # Errors
    /// See [`NoGeneric`].
    pub fn of_disk(leaf: &Leaf) -> Result<Generic, NoGeneric> {
        let Disk { name, dev, dir } = &leaf.disk;
        let Some(namespace) = namespace(name, "nvme") else {
            return Err(NoGeneric::OtherDriver(name.clone()));
        };
        if let Some(partition) = &leaf.partition {
            return Err(NoGeneric::Partition {
                partition: partition.clone(),
                disk: name.clone(),
            });
        }
        let found = siblings(dir).find_map(|other| is_of(&other, "ng", namespace));
        let (generic, number) = found.ok_or_else(|| NoGeneric::NotThere(name.clone()))?;
        Ok(Generic {
            name: generic,
            dev: number,
            block: Some((name.clone(), *dev)),
        })
    }
}

/// The namespace's number in `PREFIXcNUMBER`: digits, `n`, digits. A hidden path (`nvme0c1n1`) has none.
fn namespace<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (first, namespace) = name.strip_prefix(prefix)?.split_once('n')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (number(first) && number(namespace)).then_some(namespace)
}

/// What stands in the folder that a device's own folder is in. Older kernels put character devices one folder deeper, below the
/// name of their class, and disks below `block`.
fn siblings(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let class = |path: &Path| matches!(attr::name(path).as_str(), "block" | "nvme-generic");
    let above = dir.parent().unwrap_or(dir);
    let owner = match class(above) {
        true => above.parent().unwrap_or(above),
        false => above,
    };
    ["", "block", "nvme-generic"]
        .map(|below| attr::entries(&owner.join(below)))
        .into_iter()
        .flatten()
}

/// Name and number of a device of this kind and namespace.
fn is_of(dir: &Path, prefix: &str, wanted: &str) -> Option<(String, DevId)> {
    let name = attr::name(dir);
    let fits = namespace(&name, prefix) == Some(wanted);
    let dev = parse_dev(&attr::text(&dir.join("dev")).filter(|_| fits)?)?;
    Some((name, dev))
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

use crate::{Roots, attr};
use itertools::Itertools;
use q2c_model::DevId;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A disk in sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Kernel name: `nvme0n1`.
    pub name: String,
    /// Device number; 0:0 for a hidden NVMe path, which has none.
    pub dev: DevId,
    /// The disk's folder in sysfs, with links resolved.
    pub dir: PathBuf,
}

/// The disk of a path or a device number, with the disks below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDisk {
    /// The disk whose queue takes the requests.
    pub disk: Disk,
    /// The partition's name, if the device number is that of a partition.
    pub partition: Option<String>,
    /// The disks below a stacked disk (dm, md, NVMe multipath), down to those with no disk below;
    /// empty for other disks.
    pub below: Vec<Disk>,
    /// Reasons, in words, why I/O on this disk cannot be proved by one device's counters.
    pub unproved: Vec<String>,
}

impl TargetDisk {
    /// The disks that do the work: those below if there are any, else the disk itself.
    pub fn disks(&self) -> &[Disk] {
        match self.below.as_slice() {
            [] => std::slice::from_ref(&self.disk),
            below => below,
        }
    }
}

/// Why no disk was found.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoDisk {
    /// The device number is anonymous: the file system (btrfs, overlay, tmpfs, network) has no
    /// single device.
    #[error(
        "find the disk of device number {dev}: it is anonymous, as btrfs, overlay, tmpfs and network file systems \
         have; use a file on ext4 or xfs, or a block device, to have interrupts and requests counted"
    )]
    Anonymous { dev: DevId },
    #[error("find the disk of device number {} at {}: {}; is sysfs mounted there?", .0, .1.display(), .2)]
    NotInSysfs(DevId, PathBuf, #[source] io::Error),
    #[error("ask for the device of {}: {}; name a block device or a file on one, lsblk lists the devices", .0.display(), .1)]
    Path(PathBuf, #[source] io::Error),
}

/// Splits a device number from `stat(2)` into major and minor.
pub(crate) fn device_number(raw: u64) -> DevId {
    let (major, minor) = (rustix::fs::major(raw), rustix::fs::minor(raw));
    DevId { major, minor }
}

/// The disk of a device's path, of the file system of a file, or of a kernel name such as
/// `nvme0n1`. A name without a slash is a kernel name unless there is a file of this name.
pub fn disk_of_path_or_name(roots: &Roots, name: &str) -> Result<TargetDisk, NoDisk> {
    let path = Path::new(name);
    if !name.contains('/') && !path.exists() {
        disk_by_name(roots, name)
    } else {
        disk_of_path(roots, path)
    }
}

/// The disk of a path: that of a block device, or of the file system that holds the file.
pub fn disk_of_path(roots: &Roots, path: &Path) -> Result<TargetDisk, NoDisk> {
    let meta = fs::metadata(path).map_err(|source| NoDisk::Path(path.to_owned(), source))?;
    disk_of_metadata(roots, &meta)
}

/// The disk of the block device with this metadata, or of the file system that holds the file.
pub(crate) fn disk_of_metadata(roots: &Roots, meta: &fs::Metadata) -> Result<TargetDisk, NoDisk> {
    let is_device = meta.file_type().is_block_device();
    let raw = if is_device { meta.rdev() } else { meta.dev() };
    disk_of_device(roots, device_number(raw))
}

/// The disk of a device number.
pub fn disk_of_device(roots: &Roots, dev: DevId) -> Result<TargetDisk, NoDisk> {
    if dev.major == 0 {
        return Err(NoDisk::Anonymous { dev });
    }
    let link = roots.sys(&format!("dev/block/{dev}"));
    let dir = fs::canonicalize(&link).map_err(|e| NoDisk::NotInSysfs(dev, link, e))?;
    Ok(disk_of_folder(roots, dir))
}

/// The disk with a kernel name, such as `nvme0n1`.
pub fn disk_by_name(roots: &Roots, name: &str) -> Result<TargetDisk, NoDisk> {
    let path = roots.sys(&format!("block/{name}"));
    let dir = fs::canonicalize(&path).map_err(|source| NoDisk::Path(path, source))?;
    Ok(disk_of_folder(roots, dir))
}

/// The disks of hardware, by name: no loop device, RAM disk or stacked disk, no hidden path, and no
/// drive without a medium.
pub fn hardware_disks(roots: &Roots) -> Vec<Disk> {
    let is_hardware = |dir: &PathBuf| {
        let is_hidden = attr::text(&dir.join("hidden")).is_some_and(|text| text == "1");
        let sectors: u64 = attr::value(&dir.join("size")).unwrap_or(0);
        dir.join("device").exists() && !is_hidden && sectors > 0
    };
    let folders = attr::entries(&roots.sys("block")).into_iter();
    let folders = folders.filter_map(|link| fs::canonicalize(link).ok());
    folders.filter(is_hardware).map(disk).collect()
}

fn disk_of_folder(roots: &Roots, dir: PathBuf) -> TargetDisk {
    let partition = dir.join("partition").exists().then(|| attr::name(&dir));
    let disk = match (&partition, dir.parent()) {
        (Some(_), Some(parent)) => disk(parent.to_owned()),
        _ => disk(dir),
    };
    let below = disks_below(roots, &disk);
    let unproved = unproved_reasons(&disk, &below);
    TargetDisk {
        disk,
        partition,
        below,
        unproved,
    }
}

fn disk(dir: PathBuf) -> Disk {
    let (name, dev) = (attr::name(&dir), number_of(&dir).unwrap_or_default());
    Disk { name, dev, dir }
}

/// The number of the device with this folder in sysfs.
pub(crate) fn number_of(dir: &Path) -> Option<DevId> {
    parse_dev(&attr::text(&dir.join("dev"))?)
}

pub(crate) fn parse_dev(text: &str) -> Option<DevId> {
    let (major, minor) = text.split_once(':')?;
    let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
    Some(DevId { major, minor })
}

/// The disks below a stacked disk, down to those with no disk below, each once and sorted by name.
fn disks_below(roots: &Roots, disk: &Disk) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    let slaves = attr::entries(&disk.dir.join("slaves"));
    for slave in slaves.iter().filter_map(|s| fs::canonicalize(s).ok()) {
        disks.extend_from_slice(disk_of_folder(roots, slave).disks());
    }
    disks.extend(nvme_paths(roots, &disk.name));
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    disks.dedup();
    disks
}

/// The hidden disks (`nvme0c1n1`) of the paths behind a multipath head (`nvme0n1`).
fn nvme_paths(roots: &Roots, head: &str) -> Vec<Disk> {
    let Some((subsystem, namespace)) = head.strip_prefix("nvme").and_then(|n| n.split_once('n'))
    else {
        return Vec::new();
    };
    let (prefix, suffix) = (format!("nvme{subsystem}c"), format!("n{namespace}"));
    let hidden_path = |path: &PathBuf| {
        let name = attr::name(path);
        let middle = name.strip_prefix(&prefix)?.strip_suffix(&suffix)?;
        let is_path = !middle.is_empty() && middle.bytes().all(|b| b.is_ascii_digit());
        fs::canonicalize(path).ok().filter(|_| is_path).map(disk)
    };
    let disks = attr::entries(&roots.sys("block"));
    disks.iter().filter_map(hidden_path).collect()
}

fn unproved_reasons(disk: &Disk, below: &[Disk]) -> Vec<String> {
    let name = &disk.name;
    let mut reasons = Vec::new();
    if !below.is_empty() {
        let names = below.iter().map(|disk| &disk.name).join(", ");
        reasons.push(format!(
            "{name} stands on {names}: its requests may be split or spread, and which disk served one is not known"
        ));
    }
    if let Some(file) = attr::text(&disk.dir.join("loop/backing_file")) {
        reasons.push(format!(
            "{name} is a loop device over {file}: kernel threads serve it, and no interrupt line is its own"
        ));
    }
    reasons
}

/// True if the text has the form of a full PCI address, domain included.
pub fn is_pci_address(text: &str) -> bool {
    // PCI addresses are domain, bus, device and function, as in `0000:04:00.0`.
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let [domain, bus, device, function] = parts[..] else {
        return false;
    };
    let hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    // Domains of more than four digits belong to bridges made by software.
    let form = text.rfind(':') < text.find('.');
    form && hex(domain, 4..=8) && hex(bus, 2..=2) && hex(device, 2..=2) && hex(function, 1..=1)
}

/// The PCI address of a disk's adapter: the last address on the sysfs path to the disk. If the disk
/// has none, the address of the first disk below that has one. `None` for disks that are not on
/// PCI.
pub fn pci_address(target_disk: &TargetDisk) -> Option<String> {
    let nearest_address = |disk: &Disk| {
        let mut names = disk.dir.ancestors().map(attr::name);
        names.find(|name| is_pci_address(name))
    };
    let below = || target_disk.below.iter().find_map(nearest_address);
    nearest_address(&target_disk.disk).or_else(below)
}

/// The NUMA node of a PCI device; `None` where sysfs shows none.
pub fn pci_node(roots: &Roots, address: &str) -> Option<u32> {
    attr::value(&roots.sys(&format!("bus/pci/devices/{address}/numa_node")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_an_address() {
        for right in ["0000:04:00.0", "10000:01:1f.7", "ffff:FF:1f.7"] {
            assert!(is_pci_address(right), "{right}");
        }
        for wrong in [
            "04:00.0",
            "0000:04:00",
            "0000:04.00:0",
            "0000:4:00.0",
            "0000:04:00.0/..",
            "disk",
            "",
        ] {
            assert!(!is_pci_address(wrong), "{wrong}");
        }
    }
}

//! Checks of the target itself. Whether it is fit at all was decided when it was opened.

use super::facts::DoctorFacts;
use super::finding::Finding;
use super::irq;
use super::queue::{self, POLLED};
use crate::attr;
use crate::target::{UNASKED, never_written};
use q2c_result::TargetKind;

pub(super) fn kind(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts.target?;
    let system = target.file_system.as_deref();
    Some(match (&target.kind, system) {
        (TargetKind::Block, _) => Finding::pass(
            format!("{}: block device", target.path),
            "no file system in the way",
        ),
        (TargetKind::NvmeGeneric, _) => Finding::pass(
            format!("{}: NVMe namespace by its character device", target.path),
            "commands go to the driver: neither file system nor block layer's scheduler and counters are in the way",
        ),
        (_, Some("btrfs")) => Finding::invalidates(
            POLLED,
            format!("{}: file on btrfs", target.path),
            "btrfs has no polled I/O: poll and hybrid in the kernel are impossible on its files",
        ),
        (_, Some(name)) => Finding::pass(
            format!("{}: file on {name}", target.path),
            "times and CPU include the file system's; offsets are the file's",
        ),
        (_, None) => Finding::unknown(
            format!("{}: file on an unnamed file system", target.path),
            "what the file system adds is not known",
        ),
    })
}

pub(super) fn proved(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts.target?;
    Some(match (target.unproved.as_slice(), &target.device) {
        ([], Some(device)) => {
            let counted = (irq::are_counted(facts), queue::requests_are_counted(facts));
            counted_as(format!("its I/O goes to {}", device.name), counted)
        }
        (_, None) => Finding::invalidates(
            &["effective-mode"],
            format!("no device: {}", target.unproved.join("; ")),
            "that I/O happened, and how it completed, cannot be proved by the device's counters",
        ),
        (unproved, _) => Finding::warn(
            format!("not proved: {}", unproved.join("; ")),
            "numbers hold for the path as a whole, not for one device",
        ),
    })
}

fn counted_as(found: String, counted: (bool, bool)) -> Finding {
    match counted {
        (true, true) => Finding::pass(
            found,
            "interrupts and requests of the device can be counted against ours",
        ),
        (false, true) => Finding::warn(
            found,
            "requests of the device can be counted against ours, its interrupts cannot: no line of it was found",
        ),
        (true, false) => Finding::warn(
            found,
            "interrupts of the device can be counted against ours, its requests cannot: iostats is off",
        ),
        (false, false) => Finding::invalidates(
            &["effective-mode"],
            found,
            "neither interrupts nor requests of the device are counted: that I/O happened, and how it completed, cannot \
             be proved",
        ),
    }
}

pub(super) fn size(facts: &DoctorFacts) -> Option<Finding> {
    /// Bytes; larger than the DRAM on consumer and most data-centre drives.
    const LARGE: u64 = 4 << 30;
    let target = facts.target?;
    let target_size = format!("{}: {}", target.path, target.size);
    Some(if target.size.0 >= LARGE {
        Finding::pass(target_size, "larger than what a device keeps in its cache")
    } else {
        Finding::warn(
            target_size,
            "it may fit into the device's or the host's cache: latencies can be the cache's, not the medium's",
        )
    })
}

pub(super) fn written(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts.target?;
    let doubt = target.unproved.iter().find(|u| u.starts_with(UNASKED));
    Some(match (&target.kind, doubt) {
        (TargetKind::File, None) => Finding::pass(
            format!("{}: every extent is mapped and written", target.path),
            "reads reach the medium; refused otherwise",
        ),
        (TargetKind::File, Some(doubt)) => Finding::unknown(
            doubt.as_str(),
            "holes are answered without the device: fill the file with random data",
        ),
        _ if never_written(target).is_some() => Finding::warn(
            format!("{}: most blocks looked at hold zeros only", target.path),
            "trimmed or fresh blocks are answered without the medium: fill the device with random data, twice for NAND",
        ),
        _ => Finding::unknown(
            format!(
                "{}: the kernel does not know which blocks were ever written",
                target.path
            ),
            "trimmed or fresh blocks are answered without the medium: fill the device with random data, twice for NAND",
        ),
    })
}

pub(super) fn mounted(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts
        .target
        .filter(|t| matches!(t.kind, TargetKind::Block | TargetKind::NvmeGeneric))?;
    let target_disk = facts.target_disk.as_ref()?;
    let table = facts.proc("self/mountinfo")?;
    let numbers = numbers(facts);
    // The fields of a line: id, parent, device number, root, mount point.
    let places: Vec<&str> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(2);
            let number = fields.next()?;
            numbers.iter().any(|n| n == number).then(|| fields.nth(1))?
        })
        .collect();
    Some(if places.is_empty() {
        Finding::pass(
            format!("no file system of {} is mounted", target_disk.disk.name),
            "the device serves nobody else",
        )
    } else {
        Finding::warn(
            format!("{}: mounted at {}", target.path, places.join(", ")),
            "the file system's own I/O mixes with the jobs', and writes to the device are refused",
        )
    })
}

/// Device numbers of the target's disk and its partitions.
fn numbers(facts: &DoctorFacts) -> Vec<String> {
    let Some(target_disk) = &facts.target_disk else {
        return Vec::new();
    };
    let partitions = attr::entries(&target_disk.disk.dir)
        .into_iter()
        .filter(|dir| dir.join("partition").exists());
    let dirs = std::iter::once(target_disk.disk.dir.clone()).chain(partitions);
    dirs.filter_map(|dir| attr::text(&dir.join("dev")))
        .collect()
}

pub(super) fn write_cache(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("write_cache")?;
    let cache_mode = format!("{disk}: {value}");
    Some(match value.as_str() {
        "write through" => Finding::pass(
            cache_mode,
            "a finished write is safe, and its latency the medium's",
        ),
        "write back" => Finding::warn(
            cache_mode,
            "writes finish in the device's volatile cache: their latency is the cache's until it is full or flushed",
        ),
        _ => Finding::unknown(cache_mode, "where a write ends is not known"),
    })
}

pub(super) fn block_size(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, logical) = facts.queue("logical_block_size")?;
    let (_, physical) = facts.queue("physical_block_size")?;
    let block_sizes = format!("{disk}: {logical} B blocks on {physical} B");
    let (logical, physical): (u64, u64) = (logical.parse().ok()?, physical.parse().ok()?);
    Some(if logical < physical {
        Finding::warn(
            block_sizes,
            "requests below the larger size, or not aligned to it, read and write back a whole unit",
        )
    } else {
        Finding::pass(
            block_sizes,
            "requests of one block are whole units of the medium",
        )
    })
}

pub(super) fn memory(facts: &DoctorFacts) -> Option<Finding> {
    let (target, memory) = (facts.target?, facts.machine.memory?);
    let sizes = format!("{} of target, {} of memory", target.size, memory.in_short());
    Some(if target.size > memory {
        Finding::pass(sizes, "no cache in memory holds it all")
    } else {
        Finding::warn(
            sizes,
            "it fits into memory: buffered readers, loop devices and hosts of virtual machines may serve it from there",
        )
    })
}

//! Checks of the target itself. Its opening has already decided if it is fit at all.

use super::facts::DoctorFacts;
use super::finding::Finding;
use super::irq;
use super::queue::{self, POLL_COLUMNS};
use crate::attr;
use crate::target::{FILL_UNKNOWN, never_written};
use q2c_result::TargetKind;
use std::path::PathBuf;

pub(super) fn kind(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts.target?;
    let path = &target.path;
    let system = target.file_system.as_deref();
    Some(match (&target.kind, system) {
        (TargetKind::Block, _) => {
            Finding::pass(format!("{path}: block device"), "no file system in the way")
        }
        (TargetKind::NvmeGeneric, _) => Finding::pass(
            format!("{path}: NVMe namespace by its character device"),
            "commands go to the driver: neither file system nor block layer's scheduler and counters are in the way",
        ),
        (_, Some("btrfs")) => Finding::invalidates(
            POLL_COLUMNS,
            format!("{path}: file on btrfs"),
            "btrfs has no polled I/O: poll and hybrid in the kernel are impossible on its files",
        ),
        (_, Some(name)) => Finding::pass(
            format!("{path}: file on {name}"),
            "times and CPU include the file system's; offsets are the file's",
        ),
        (_, None) => {
            let means = "what the file system adds is not known";
            Finding::unknown(format!("{path}: file on an unnamed file system"), means)
        }
    })
}

pub(super) fn proved(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts.target?;
    let unproved = target.unproved.join("; ");
    let Some(device) = &target.device else {
        return Some(Finding::invalidates(
            &["effective-mode"],
            format!("no device: {unproved}"),
            "that I/O happened, and how it completed, cannot be proved by the device's counters",
        ));
    };
    if !target.unproved.is_empty() {
        let means = "numbers hold for the path as a whole, not for one device";
        return Some(Finding::warn(format!("not proved: {unproved}"), means));
    }
    let finding = format!("its I/O goes to {}", device.name);
    let irqs = irq::device_lines(facts).is_some();
    let requests = queue::requests_are_counted(facts);
    if !irqs && !requests {
        return Some(Finding::invalidates(
            &["effective-mode"],
            finding,
            "neither interrupts nor requests of the device are counted: that I/O happened, and how it completed, cannot \
             be proved",
        ));
    }
    Some(Finding::pass_or_warn(
        irqs && requests,
        finding,
        "interrupts and requests of the device can be counted against ours",
        if requests {
            "requests of the device can be counted against ours, its interrupts cannot: no line of it was found"
        } else {
            "interrupts of the device can be counted against ours, its requests cannot: iostats is off"
        },
    ))
}

pub(super) fn size(facts: &DoctorFacts) -> Option<Finding> {
    /// Bytes; larger than the DRAM on consumer and most data-centre drives.
    const LARGE_BYTES: u64 = 4 << 30;
    let target = facts.target?;
    Some(Finding::pass_or_warn(
        target.size.0 >= LARGE_BYTES,
        format!("{}: {}", target.path, target.size),
        "larger than what a device keeps in its cache",
        "it may fit into the device's or the host's cache: latencies can be the cache's, not the medium's",
    ))
}

pub(super) fn written(facts: &DoctorFacts) -> Option<Finding> {
    const FILL_ADVICE: &str = "trimmed or fresh blocks are answered without the medium: fill the device with random data, twice for NAND";
    let target = facts.target?;
    let path = &target.path;
    let doubt = target.unproved.iter().find(|u| u.starts_with(FILL_UNKNOWN));
    Some(match (&target.kind, doubt) {
        (TargetKind::File, None) => Finding::pass(
            format!("{path}: every extent is mapped and written"),
            "reads reach the medium; refused otherwise",
        ),
        (TargetKind::File, Some(doubt)) => Finding::unknown(
            doubt.as_str(),
            "holes are answered without the device: fill the file with random data",
        ),
        _ if never_written(target).is_some() => Finding::warn(
            format!("{path}: most blocks looked at hold zeros only"),
            FILL_ADVICE,
        ),
        _ => {
            let finding =
                format!("{path}: the kernel does not know which blocks were ever written");
            Finding::unknown(finding, FILL_ADVICE)
        }
    })
}

pub(super) fn mounted(facts: &DoctorFacts) -> Option<Finding> {
    let target = facts
        .target
        .filter(|t| matches!(t.kind, TargetKind::Block | TargetKind::NvmeGeneric))?;
    let disk = &facts.target_disk.as_ref()?.disk;
    let table = facts.proc("self/mountinfo")?;
    let mut partitions = attr::entries(&disk.dir);
    partitions.retain(|dir| dir.join("partition").exists());
    let number = |dir: &PathBuf| attr::text(&dir.join("dev"));
    let dirs = partitions.iter().chain([&disk.dir]);
    let numbers: Vec<String> = dirs.filter_map(number).collect();
    // The fields of a line: id, parent, device number, root, mount point.
    let mount_point = |line: &str| {
        let mut fields = line.split(' ').skip(2);
        let number = fields.next()?;
        let is_ours = numbers.iter().any(|n| n == number);
        fields.nth(1).filter(|_| is_ours).map(str::to_owned)
    };
    let places: Vec<String> = table.lines().filter_map(mount_point).collect();
    Some(if places.is_empty() {
        let finding = format!("no file system of {} is mounted", disk.name);
        Finding::pass(finding, "the device serves nobody else")
    } else {
        Finding::warn(
            format!("{}: mounted at {}", target.path, places.join(", ")),
            "the file system's own I/O mixes with the jobs', and writes to the device are refused",
        )
    })
}

pub(super) fn write_cache(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("write_cache")?;
    let cache_mode = format!("{disk}: {value}");
    Some(match value.as_str() {
        "write through" => {
            let means = "a finished write is safe, and its latency the medium's";
            Finding::pass(cache_mode, means)
        }
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
    Some(Finding::pass_or_warn(
        logical.parse::<u64>().ok()? >= physical.parse().ok()?,
        format!("{disk}: {logical} B blocks on {physical} B"),
        "requests of one block are whole units of the medium",
        "requests below the larger size, or not aligned to it, read and write back a whole unit",
    ))
}

pub(super) fn memory(facts: &DoctorFacts) -> Option<Finding> {
    let (target, memory) = (facts.target?, facts.machine.memory?);
    Some(Finding::pass_or_warn(
        target.size > memory,
        format!("{} of target, {} of memory", target.size, memory.in_short()),
        "no cache in memory holds it all",
        "it fits into memory: buffered readers, loop devices and hosts of virtual machines may serve it from there",
    ))
}

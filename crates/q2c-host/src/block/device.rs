use super::{Interrupts, TargetDisk};
use crate::{Roots, attr};
use q2c_model::{Bytes, Sectors};
use q2c_result::Device;
use std::path::Path;

/// Bytes of a page, the smallest size of any architecture's.
const PAGE: u64 = 4096;

/// Reads the facts of a disk. A fact that cannot be read is `None`; without countable interrupts
/// `irq_cpus` is empty.
pub fn read(roots: &Roots, target_disk: &TargetDisk) -> Device {
    let dir = &target_disk.disk.dir;
    let queue = |name: &str| dir.join("queue").join(name);
    let text = |name: &str| attr::text(&dir.join(name));
    Device {
        name: target_disk.disk.name.clone(),
        dev: target_disk.disk.dev,
        model: text("device/model"),
        firmware: text("device/firmware_rev").or_else(|| text("device/rev")),
        size: attr::value(&dir.join("size")).map(|n| Sectors(n).bytes()),
        logical_block: attr::value(&queue("logical_block_size")).map(Bytes),
        scheduler: attr::text(&queue("scheduler")).map(|t| attr::selected(&t).to_owned()),
        nr_requests: attr::value(&queue("nr_requests")),
        hw_queues: hw_queues(target_disk),
        unsplit: unsplit(dir),
        io_poll: attr::text(&queue("io_poll")).and_then(|t| switch(&t)),
        nomerges: attr::value(&queue("nomerges")),
        write_cache: attr::text(&queue("write_cache")),
        irq_cpus: Interrupts::read(roots, target_disk)
            .map(|i| i.busiest())
            .unwrap_or_default(),
    }
}

/// The largest request that the disk with this sysfs folder does as one; `None` where its limits
/// cannot be read.
pub fn unsplit(dir: &Path) -> Option<Bytes> {
    let limit = |name: &str| attr::value(&dir.join("queue").join(name));
    let (sectors_kb, segments) = (limit("max_sectors_kb")?, limit("max_segments")?);
    (segments > 0).then(|| as_one(sectors_kb, segments))
}

/// The largest power of two in bytes that fits in both limits. The pages of a buffer may lie apart,
/// so that each is a segment.
fn as_one(max_sectors_kb: u64, max_segments: u64) -> Bytes {
    let pages = max_segments.saturating_mul(PAGE);
    let most = max_sectors_kb.saturating_mul(1024).min(pages);
    Bytes(1 << most.max(1).ilog2())
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The number of hardware queues: each has a folder below `mq`. A disk without that folder takes
/// bios and has no hardware queues: `None`.
fn hw_queues(target_disk: &TargetDisk) -> Option<u32> {
    let mq = target_disk.disk.dir.join("mq");
    mq.is_dir().then(|| attr::entries(&mq).len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_split_above_the_smaller_of_two_limits() {
        // The emulated NVMe drive of the guests: 128 pages that lie apart are one too many.
        assert_eq!(as_one(512, 127), Bytes(256 << 10));
        assert_eq!(as_one(128, 127), Bytes(128 << 10));
        assert_eq!(as_one(1280, 65_535), Bytes(1 << 20));
    }

    #[test]
    fn limits_that_cannot_be_read_are_not_guessed() {
        assert_eq!(unsplit(Path::new("/nowhere")), None);
    }
}

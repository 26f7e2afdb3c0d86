//! Reads a disk's facts from its sysfs folder.

use super::{Interrupts, TargetDisk};
use crate::{Roots, attr};
use q2c_model::{Bytes, Sectors};
use q2c_result::Device;

/// Reads the facts of a disk. A fact that cannot be read is `None`; without countable interrupts
/// `irq_cpus` is empty.
#[must_use]
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
        io_poll: attr::text(&queue("io_poll")).and_then(|t| switch(&t)),
        nomerges: attr::value(&queue("nomerges")),
        write_cache: attr::text(&queue("write_cache")),
        irq_cpus: Interrupts::read(roots, target_disk)
            .map(|i| i.busiest())
            .unwrap_or_default(),
    }
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

//! What to record, by whatever means.

use crate::ProbeError;
use q2c_host::block::Disk;
use q2c_model::{Bytes, DevId, Nanos, Op};

/// Disks at most, as in the program.
pub(crate) const DISKS: usize = 8;
/// I/Os in flight at most; their memory is taken at the start.
pub const IN_FLIGHT: u32 = 1 << 16;

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Operations; empty: all.
    pub ops: Vec<Op>,
    /// Lengths, both ends included.
    pub min_size: Bytes,
    /// See above.
    pub max_size: Bytes,
    /// Queued by this process.
    pub pid: Option<u32>,
    /// Only what takes longer, from queued to complete.
    pub latency_above: Nanos,
    /// Size of each CPU's ring: a power of two of at least 4096; `None`: by the number of CPUs.
    pub ring: Option<u32>,
    /// I/Os in flight at most.
    pub in_flight: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            ops: Vec::new(),
            min_size: Bytes(0),
            max_size: Bytes(u64::from(u32::MAX)),
            pid: None,
            latency_above: Nanos::ZERO,
            ring: None,
            in_flight: IN_FLIGHT,
        }
    }
}

/// A device's number as the kernel packs it.
pub(crate) fn number(device: DevId) -> u32 {
    device.major << 20 | device.minor
}

/// Whether a disk has requests, by the queues of multi-queue; else it takes bios alone.
pub(crate) fn has_requests(disk: &Disk) -> bool {
    disk.dir.join("mq").is_dir()
}

/// The numbers of at most [`DISKS`] disks, then zeros.
pub(crate) fn numbers(disks: &[Disk]) -> Result<[u32; DISKS], ProbeError> {
    let none = DevId::default();
    if disks.is_empty() || disks.len() > DISKS || disks.iter().any(|disk| disk.dev == none) {
        let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
        return Err(ProbeError::Disks {
            names: names.join(", "),
        });
    }
    let mut numbers = [0; DISKS];
    for (number, disk) in numbers.iter_mut().zip(disks) {
        *number = self::number(disk.dev);
    }
    Ok(numbers)
}

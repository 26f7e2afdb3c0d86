//! The choice of I/Os to record, the same for BPF and tracefs.

use crate::ProbeError;
use itertools::Itertools;
use q2c_host::Roots;
use q2c_host::block::{Disk, NoDisk, TargetDisk, disk_of_path_or_name};
use q2c_model::{Bytes, DevId, Nanos, Op};

/// Most disks of a recording: `DEVICES` in `probes/block_io/block_io.bpf.c`.
pub const MAX_DISKS: usize = 8;
/// Most I/Os in flight that a BPF recording can hold, unless [`CaptureFilter::in_flight`] says
/// otherwise. The kernel allocates their memory at the start.
pub(crate) const DEFAULT_IN_FLIGHT: u32 = 1 << 16;

/// Which I/Os to record. The default is all I/Os.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Operations to record; empty means all.
    pub ops: Vec<Op>,
    /// Shortest I/O to record; an I/O of exactly this length is recorded.
    pub min_size: Bytes,
    /// Longest I/O to record; an I/O of exactly this length is recorded.
    pub max_size: Bytes,
    /// Record only I/Os that this process queued; `None` means those of all processes.
    pub pid: Option<u32>,
    /// Record only I/Os that take longer than this from queued to complete; zero records all.
    pub latency_above: Nanos,
    /// Bytes of each CPU's ring, a power of two of at least 4096. `None` chooses a size by the
    /// number of CPUs.
    pub ring: Option<u32>,
    /// Most I/Os in flight that the BPF program can hold; further ones are lost and counted.
    pub in_flight: u32,
}

impl Default for CaptureFilter {
    fn default() -> Self {
        CaptureFilter {
            ops: Vec::new(),
            min_size: Bytes(0),
            max_size: Bytes(u64::from(u32::MAX)),
            pid: None,
            latency_above: Nanos::ZERO,
            ring: None,
            in_flight: DEFAULT_IN_FLIGHT,
        }
    }
}

/// A device's number as the kernel packs it: major in the upper 12 bits, minor in the lower 20.
pub(crate) fn packed_number(device: DevId) -> u32 {
    device.major << 20 | device.minor
}

/// True if a disk has requests: it has the folder `mq` in sysfs, which lists its hardware queues. A
/// disk without requests takes bios alone.
pub(crate) fn has_requests(disk: &Disk) -> bool {
    disk.dir.join("mq").is_dir()
}

/// The packed numbers of 1 to [`MAX_DISKS`] disks; unused places are 0. Fails for another number of
/// disks, or when a disk has no device number.
pub(crate) fn packed_numbers(disks: &[Disk]) -> Result<[u32; MAX_DISKS], ProbeError> {
    let none = DevId::default();
    if disks.is_empty() || disks.len() > MAX_DISKS || disks.iter().any(|disk| disk.dev == none) {
        let names = disks.iter().map(|disk| &disk.name).join(", ");
        return Err(ProbeError::Disks { names });
    }
    let mut packed_numbers = [0; MAX_DISKS];
    for (packed, disk) in packed_numbers.iter_mut().zip(disks) {
        *packed = packed_number(disk.dev);
    }
    Ok(packed_numbers)
}

/// Devices or files by their names, and the disks whose queues take their requests.
#[derive(Clone, Debug)]
pub struct CaptureTarget {
    /// The names as they were given, separated by commas.
    pub name: String,
    /// The block devices that the names lead to.
    pub target_disks: Vec<TargetDisk>,
    disks: Vec<Disk>,
}

impl CaptureTarget {
    /// Finds the disks of devices' paths, of the file systems of files, or of kernel names.
    pub fn find(roots: &Roots, names: &[impl AsRef<str>]) -> Result<CaptureTarget, NoDisk> {
        let names = names.iter().map(AsRef::as_ref);
        let target_disks = names.clone().map(|name| disk_of_path_or_name(roots, name));
        let target_disks: Vec<TargetDisk> = target_disks.collect::<Result<_, _>>()?;
        let disks = target_disks.iter().flat_map(TargetDisk::disks);
        Ok(CaptureTarget {
            name: names.clone().join(","),
            disks: disks.unique_by(|disk| &disk.dir).cloned().collect(),
            target_disks,
        })
    }

    /// The disks whose I/Os are recorded.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Names and numbers of the disks, separated by commas.
    pub fn names(&self) -> String {
        let name = |disk: &Disk| format!("{} ({})", disk.name, disk.dev);
        self.disks().iter().map(name).join(", ")
    }
}

//! Facts about the machine, the device and the target that stand beside every number.

use q2c_model::{Bytes, CpuId, DevId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine as found. A fact that could not be read is `None`, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Architecture, as `uname -m`.
    pub arch: String,
    /// Processor's name.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus_online: Vec<CpuId>,
    /// Hardware threads per core; 1 without SMT.
    pub threads_per_core: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Memory in all.
    pub memory: Option<Bytes>,
    /// Hypervisor, when one is seen.
    pub hypervisor: Option<String>,
    /// Frequency governor of the CPUs in use.
    pub governor: Option<String>,
    /// cpuidle driver.
    pub idle_driver: Option<String>,
    /// cpuidle governor.
    pub idle_governor: Option<String>,
    /// Idle states: name, exit latency in microseconds.
    pub idle_states: Vec<(String, u64)>,
    /// Clock source.
    pub clocksource: Option<String>,
    /// Whether the TSC is invariant.
    pub tsc_invariant: Option<bool>,
    /// Preemption model as the kernel names it.
    pub preempt: Option<String>,
    /// Everything else worth keeping (mitigations, command line items), name to value.
    pub other: BTreeMap<String, String>,
}

/// A block device as found in sysfs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name: `nvme0n1`, `vda`.
    pub name: String,
    /// Number.
    pub dev: DevId,
    /// Model, when the device tells.
    pub model: Option<String>,
    /// Firmware revision, when the device tells.
    pub firmware: Option<String>,
    /// Size.
    pub size: Option<Bytes>,
    /// Logical block size.
    pub logical_block: Option<Bytes>,
    /// Scheduler in force.
    pub scheduler: Option<String>,
    /// Requests per queue.
    pub nr_requests: Option<u64>,
    /// Hardware queues.
    pub hw_queues: Option<u32>,
    /// `io_poll`: the device can be polled.
    pub io_poll: Option<bool>,
    /// Merge setting.
    pub nomerges: Option<u64>,
    /// Write cache setting.
    pub write_cache: Option<String>,
    /// Interrupt lines of the device and the CPUs that took them so far, most busy first.
    pub irq_cpus: Vec<CpuId>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Path as given.
    pub path: String,
    /// `file`, `block`, `nvme-generic` (an NVMe namespace's character device), `pci` (a controller bound to a user-space driver) or
    /// `simulated`.
    pub kind: String,
    /// Size; 0 where it is not known.
    pub size: Bytes,
    /// File system's name, for a file.
    pub file_system: Option<String>,
    /// The leaf device, when one could be found.
    pub device: Option<Device>,
    /// What could not be proved about it (no leaf device: btrfs, overlay, dm), in words; empty when all was.
    pub unproved: Vec<String>,
}

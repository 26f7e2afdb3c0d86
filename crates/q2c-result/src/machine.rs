//! Facts about the machine, the device and the target, which every result contains.

use q2c_model::{Bytes, CpuId, DevId};
use q2c_service::{RecordedFacts, SimMachine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts of the machine. A fact that could not be read is `None`; none is guessed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Architecture, as `uname -m`.
    pub arch: String,
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Vec<CpuId>,
    /// Hardware threads per core; 1 without SMT.
    pub threads_per_core: Option<u32>,
    /// Number of NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// All memory of the machine.
    pub memory: Option<Bytes>,
    /// Name of the hypervisor, if there is a visible one.
    pub hypervisor: Option<String>,
    /// Frequency governor of the CPUs in use.
    pub governor: Option<String>,
    /// Name of the cpuidle driver.
    pub idle_driver: Option<String>,
    /// Name of the cpuidle governor.
    pub idle_governor: Option<String>,
    /// Idle states: name, exit latency in microseconds.
    pub idle_states: Vec<(String, u64)>,
    /// Name of the kernel's clock source.
    pub clocksource: Option<String>,
    /// Whether the TSC is invariant.
    pub tsc_invariant: Option<bool>,
    /// Preemption model as the kernel names it.
    pub preempt: Option<String>,
    /// Further facts (mitigations, items of the kernel's command line), name to value.
    pub other: BTreeMap<String, String>,
    /// The machine that was simulated, in simulated time; `None` for a real machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimMachine>,
}

/// Facts of a block device from sysfs. A fact that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name: `nvme0n1`, `vda`.
    pub name: String,
    /// Device number.
    pub dev: DevId,
    /// Model, when the device reports it.
    pub model: Option<String>,
    /// Firmware revision, when the device reports it.
    pub firmware: Option<String>,
    /// Size of the whole device.
    pub size: Option<Bytes>,
    /// Logical block size.
    pub logical_block: Option<Bytes>,
    /// Name of the I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests per hardware queue (`queue/nr_requests`).
    pub nr_requests: Option<u64>,
    /// Number of hardware queues.
    pub hw_queues: Option<u32>,
    /// The largest request that is surely not split, by `queue/max_sectors_kb` and `max_segments`.
    pub unsplit: Option<Bytes>,
    /// Whether the device can be polled (`queue/io_poll`).
    pub io_poll: Option<bool>,
    /// Setting of merges (`queue/nomerges`).
    pub nomerges: Option<u64>,
    /// Setting of the write cache (`queue/write_cache`).
    pub write_cache: Option<String>,
    /// CPUs that have taken the device's interrupts since boot, the busiest first.
    pub irq_cpus: Vec<CpuId>,
}

/// Facts of the file or device that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Path as the user gave it.
    pub path: String,
    /// The kind of the target.
    pub kind: TargetKind,
    /// Size in bytes; 0 if unknown.
    pub size: Bytes,
    /// Name of the file system, for a file.
    pub file_system: Option<String>,
    /// The disk under the target, when one could be found.
    pub device: Option<Device>,
    /// Facts that could not be proved, for example if the target is not on one disk (btrfs, dm).
    pub unproved: Vec<String>,
    /// Recorded service times that a simulated device draws from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_times: Option<RecordedFacts>,
    /// Short trials from several CPUs, among which q2c chose; empty if there was no choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_trials: Vec<CpuTrial>,
}

impl Target {
    /// The trial of the CPU that the first job got; `None` if there were no trials.
    pub fn chosen_trial(&self) -> Option<&CpuTrial> {
        self.cpu_trials.iter().find(|trial| trial.chosen)
    }
}

/// What one job of depth 1 reaches on a CPU, in a trial of a fraction of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTrial {
    /// The CPU.
    pub cpu: CpuId,
    /// Whether the first job got this CPU.
    pub chosen: bool,
    /// IOPS when the job waits for interrupts.
    pub interrupt_iops: f64,
    /// IOPS when the job polls; `None` if the trial's engine cannot poll.
    pub poll_iops: Option<f64>,
}

words! {
    /// The kind of a target; results hold it as a word: `file`, `block`, `nvme-generic`, ...
    #[derive(Default)]
    pub enum TargetKind, text {
        /// A file.
        #[default]
        File = "file",
        /// A block device.
        Block = "block",
        /// An NVMe namespace's character device.
        NvmeGeneric = "nvme-generic",
        /// A controller bound to a user-space driver, by its PCI address.
        Pci = "pci",
        /// A simulated device.
        Simulated = "simulated",
    }
}

/// When and where a run was made, and how long it took. Equal simulated runs differ only in this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// Path of the run folder; `None` for a result that has none.
    pub folder: Option<String>,
    /// Host name and kernel of the machine; `None` if they could not be read.
    pub host: Option<String>,
}

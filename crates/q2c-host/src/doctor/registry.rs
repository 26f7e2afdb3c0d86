use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::Remedy;
use super::{abilities, build, cpu, idle, irq, kernel, numa, nvme, queue, target, thermal, tool};
use q2c_result::doctor::SCHEMA;
use q2c_result::doctor::Use::{
    self, Bench, Capture, FileSystems, KernelPolling, Measuring, Placement, RamDevices, Spdk, Tune,
};
use q2c_result::{Check, DoctorReport};

/// The function of a check. It returns `None` where the check does not apply.
type CheckFn = fn(&DoctorFacts) -> Option<Finding>;

/// What the methods of completion depend on.
const METHODS: &[Use] = &[Tune, Bench];
/// What polling in the kernel depends on.
const POLLING: &[Use] = &[Tune, Bench, KernelPolling];
/// What every measurement depends on.
const ALL: &[Use] = &[Measuring];

/// Group, stable name, uses and function of each check. A check stands under the first of its
/// uses.
const REGISTRY: &[(&str, &str, &[Use], CheckFn)] = &[
    ("kernel", "io-uring", METHODS, kernel::io_uring),
    ("kernel", "memlock", &[Bench, Tune], kernel::memlock),
    (
        "kernel",
        "hybrid-kernel",
        &[KernelPolling, Bench, Tune],
        kernel::hybrid_kernel,
    ),
    ("kernel", "hybrid-uring", METHODS, kernel::hybrid_uring),
    ("kernel", "defer-taskrun", METHODS, kernel::defer_taskrun),
    ("kernel", "mitigations", ALL, kernel::mitigations),
    ("kernel", "command-line", ALL, build::command_line),
    ("kernel", "preempt", ALL, build::preempt),
    ("kernel", "tick", ALL, build::tick),
    ("kernel", "debug-options", ALL, build::debug),
    ("kernel", "irq-time", ALL, build::irq_time),
    ("kernel", "aio-limit", &[Bench], build::aio),
    ("kernel", "hugepages", &[Spdk], build::hugepages),
    ("cpu", "governor", ALL, cpu::governor),
    ("cpu", "energy-preference", ALL, cpu::preference),
    ("cpu", "boost", ALL, cpu::boost),
    ("cpu", "smt", &[Measuring, Placement], cpu::smt),
    ("cpu", "isolated", &[Measuring, Placement], cpu::isolated),
    (
        "cpu",
        "busy-at-rest",
        &[Measuring, Tune, Bench],
        cpu::at_rest,
    ),
    ("cpu", "load", ALL, cpu::load),
    ("cpu", "steal", ALL, cpu::steal),
    ("idle", "idle-states", ALL, idle::states),
    ("idle", "idle-governor", ALL, idle::governor),
    ("idle", "idle-accounting", ALL, idle::accounting),
    ("thermal", "throttling", ALL, thermal::throttling),
    ("thermal", "device-temperature", ALL, thermal::device),
    ("thermal", "pcie-link", ALL, thermal::link),
    ("numa", "device-node", ALL, numa::node),
    ("numa", "numa-balancing", ALL, numa::balancing),
    ("irq", "irq-cpus", ALL, irq::placement),
    ("irq", "irqbalance", ALL, irq::balancer),
    ("irq", "completion-cpu", ALL, irq::completion),
    ("irq", "irq-managed", ALL, irq::managed),
    ("irq", "irq-shared", ALL, irq::shared),
    ("queue", "hardware-queues", ALL, queue::hardware_queues),
    ("queue", "poll-queues", POLLING, queue::poll_queues),
    ("queue", "scheduler", ALL, queue::scheduler),
    ("queue", "nomerges", ALL, queue::nomerges),
    ("queue", "iostats", ALL, queue::iostats),
    ("queue", "wbt", ALL, queue::write_throttling),
    ("queue", "nr-requests", ALL, queue::nr_requests),
    ("queue", "read-ahead", ALL, queue::read_ahead),
    ("nvme", "nvme-queues", POLLING, nvme::queues),
    ("nvme", "nvme-power", ALL, nvme::power),
    ("nvme", "nvme-state", ALL, nvme::state),
    ("target", "target-kind", ALL, target::kind),
    ("target", "target-proved", ALL, target::proved),
    ("target", "target-size", ALL, target::size),
    ("target", "target-written", ALL, target::written),
    ("target", "target-memory", ALL, target::memory),
    ("target", "mounted", ALL, target::mounted),
    ("target", "write-cache", ALL, target::write_cache),
    ("target", "block-size", ALL, target::block_size),
    ("tool", "clock", ALL, tool::clock),
    ("tool", "tsc", ALL, tool::tsc),
    ("tool", "clock-cost", ALL, tool::clock_cost),
    ("tool", "empty-loop", ALL, tool::empty_loop),
    ("tool", "restore-pending", ALL, tool::restore_pending),
    ("tool", "settings", ALL, abilities::settings),
    (
        "record",
        "bpf",
        &[Capture, KernelPolling, Bench, Placement],
        abilities::bpf,
    ),
    ("record", "btf", &[Capture, KernelPolling], abilities::types),
    ("record", "tracefs", &[Capture], abilities::tracefs),
    ("spdk", "spdk-program", &[Spdk], abilities::spdk),
    ("fs", "mkfs-ext4", &[FileSystems], abilities::ext4),
    ("fs", "mkfs-xfs", &[FileSystems], abilities::xfs),
    ("fs", "mkfs-btrfs", &[FileSystems], abilities::btrfs),
    ("fs", "mkfs-f2fs", &[FileSystems], abilities::f2fs),
    ("fs", "mounting", &[FileSystems], abilities::mounting),
    (
        "ramdisk",
        "ramdisk-module",
        &[RamDevices],
        abilities::ramdisk_module,
    ),
    ("ramdisk", "ublk", &[RamDevices], abilities::ublk),
    ("place", "scx", &[Placement], abilities::scx),
    ("place", "moving", &[Placement], abilities::moving),
];

pub(super) fn has(name: &str) -> bool {
    REGISTRY.iter().any(|(_, id, _, _)| *id == name)
}

pub(super) fn findings(facts: &DoctorFacts) -> impl Iterator<Item = (&'static str, Finding)> {
    REGISTRY
        .iter()
        .filter_map(move |(_, id, _, look)| Some((*id, look(facts)?)))
}

/// Runs every check on `facts`. Checks that do not apply are not in the report.
pub fn run(facts: &DoctorFacts) -> DoctorReport {
    let check = |(group, id, uses, look): &(&str, &str, &[Use], CheckFn)| {
        let finding = look(facts)?;
        let fix = finding.remedy.as_ref().and_then(Remedy::line);
        Some(Check {
            id: (*id).to_owned(),
            group: (*group).to_owned(),
            uses: uses.to_vec(),
            verdict: finding.verdict,
            fix: fix.map(str::to_owned),
            columns: finding.columns,
            found: finding.found,
            means: finding.means,
        })
    };
    DoctorReport {
        schema: SCHEMA.to_owned(),
        uses: Vec::new(),
        checks: REGISTRY.iter().filter_map(check).collect(),
    }
}

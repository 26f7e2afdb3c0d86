//! The list of all checks, in the order of the report, and the function that runs them.

use super::facts::DoctorFacts;
use super::finding::Finding;
use super::{build, cpu, idle, irq, kernel, numa, nvme, queue, target, thermal, tool};
use q2c_result::{Check, DoctorReport};

/// The function of a check. It returns `None` where the check does not apply.
type CheckFn = fn(&DoctorFacts) -> Option<Finding>;

/// Group, stable name and function of each check.
const REGISTRY: &[(&str, &str, CheckFn)] = &[
    ("kernel", "io-uring", kernel::io_uring),
    ("kernel", "memlock", kernel::memlock),
    ("kernel", "hybrid-kernel", kernel::hybrid_kernel),
    ("kernel", "hybrid-uring", kernel::hybrid_uring),
    ("kernel", "defer-taskrun", kernel::defer_taskrun),
    ("kernel", "mitigations", kernel::mitigations),
    ("kernel", "command-line", build::command_line),
    ("kernel", "preempt", build::preempt),
    ("kernel", "tick", build::tick),
    ("kernel", "debug-options", build::debug),
    ("kernel", "irq-time", build::irq_time),
    ("kernel", "aio-limit", build::aio),
    ("kernel", "hugepages", build::hugepages),
    ("cpu", "governor", cpu::governor),
    ("cpu", "energy-preference", cpu::preference),
    ("cpu", "boost", cpu::boost),
    ("cpu", "smt", cpu::smt),
    ("cpu", "isolated", cpu::isolated),
    ("cpu", "load", cpu::load),
    ("cpu", "steal", cpu::steal),
    ("idle", "idle-states", idle::states),
    ("idle", "idle-governor", idle::governor),
    ("idle", "idle-accounting", idle::accounting),
    ("thermal", "throttling", thermal::throttling),
    ("thermal", "device-temperature", thermal::device),
    ("thermal", "pcie-link", thermal::link),
    ("numa", "device-node", numa::node),
    ("numa", "numa-balancing", numa::balancing),
    ("irq", "irq-cpus", irq::placement),
    ("irq", "irqbalance", irq::balancer),
    ("irq", "completion-cpu", irq::completion),
    ("irq", "irq-managed", irq::managed),
    ("irq", "irq-shared", irq::shared),
    ("queue", "hardware-queues", queue::hardware_queues),
    ("queue", "poll-queues", queue::poll_queues),
    ("queue", "scheduler", queue::scheduler),
    ("queue", "nomerges", queue::nomerges),
    ("queue", "iostats", queue::iostats),
    ("queue", "wbt", queue::write_throttling),
    ("queue", "nr-requests", queue::nr_requests),
    ("queue", "read-ahead", queue::read_ahead),
    ("nvme", "nvme-queues", nvme::queues),
    ("nvme", "nvme-power", nvme::power),
    ("nvme", "nvme-state", nvme::state),
    ("target", "target-kind", target::kind),
    ("target", "target-proved", target::proved),
    ("target", "target-size", target::size),
    ("target", "target-written", target::written),
    ("target", "target-memory", target::memory),
    ("target", "mounted", target::mounted),
    ("target", "write-cache", target::write_cache),
    ("target", "block-size", target::block_size),
    ("tool", "clock", tool::clock),
    ("tool", "tsc", tool::tsc),
    ("tool", "clock-cost", tool::clock_cost),
    ("tool", "empty-loop", tool::empty_loop),
    ("tool", "restore-pending", tool::restore_pending),
];

/// Runs every check on `facts`. Checks that do not apply are not in the report.
#[must_use]
pub fn run(facts: &DoctorFacts) -> DoctorReport {
    let check = |(group, id, look): &(&str, &str, CheckFn)| {
        let found = look(facts)?;
        Some(Check {
            id: (*id).to_owned(),
            group: (*group).to_owned(),
            verdict: found.verdict,
            columns: found.columns,
            found: found.found,
            means: found.means,
            fix: found.fix,
        })
    };
    DoctorReport {
        schema: "q2c.doctor/1".to_owned(),
        checks: REGISTRY.iter().filter_map(check).collect(),
    }
}

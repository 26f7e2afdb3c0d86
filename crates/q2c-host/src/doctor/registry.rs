//! Every check, in the order of the report.

use super::scene::{Finding, Scene};
use super::{cpu, idle, irq, kernel, queue, target, tool};
use q2c_result::{Check, DoctorReport};

/// A check: `None` where it does not apply.
type Look = fn(&Scene) -> Option<Finding>;

/// Group, stable name, check.
const REGISTRY: &[(&str, &str, Look)] = &[
    ("kernel", "io-uring", kernel::io_uring),
    ("kernel", "memlock", kernel::memlock),
    ("kernel", "hybrid-kernel", kernel::hybrid_kernel),
    ("kernel", "hybrid-uring", kernel::hybrid_uring),
    ("kernel", "defer-taskrun", kernel::defer_taskrun),
    ("kernel", "mitigations", kernel::mitigations),
    ("cpu", "governor", cpu::governor),
    ("cpu", "boost", cpu::boost),
    ("cpu", "smt", cpu::smt),
    ("cpu", "isolated", cpu::isolated),
    ("cpu", "load", cpu::load),
    ("cpu", "steal", cpu::steal),
    ("idle", "idle-states", idle::states),
    ("idle", "idle-accounting", idle::accounting),
    ("irq", "irq-cpus", irq::placement),
    ("irq", "irqbalance", irq::balancer),
    ("irq", "completion-cpu", irq::completion),
    ("queue", "poll-queues", queue::poll_queues),
    ("queue", "scheduler", queue::scheduler),
    ("queue", "nomerges", queue::nomerges),
    ("queue", "iostats", queue::iostats),
    ("queue", "wbt", queue::write_throttling),
    ("queue", "nr-requests", queue::nr_requests),
    ("target", "target-kind", target::kind),
    ("target", "target-proved", target::proved),
    ("target", "target-size", target::size),
    ("tool", "clock", tool::clock),
    ("tool", "tsc", tool::tsc),
    ("tool", "restore-pending", tool::restore_pending),
];

/// Runs every check.
#[must_use]
pub fn run(scene: &Scene) -> DoctorReport {
    let check = |(group, id, look): &(&str, &str, Look)| {
        let found = look(scene)?;
        Some(Check {
            id: (*id).to_owned(),
            group: (*group).to_owned(),
            verdict: found.verdict,
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

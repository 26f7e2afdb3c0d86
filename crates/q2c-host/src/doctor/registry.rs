use super::abilities::maker;
use super::facts::DoctorFacts;
use super::finding::{Finding, Remedy};
use super::{abilities, cpu, irq, kernel, queue, target, thermal, tool};
use q2c_result::doctor::Use::{
    self, Bench, Capture, FileSystems, KernelPolling, Measuring, Placement, RamDevices, Spdk, Tune,
};
use q2c_result::doctor::{Ready, SCHEMA, UseState};
use q2c_result::{Check, CheckVerdict, DoctorReport};

/// Group, stable name, uses and function of a check. It stands under the first of its uses, and
/// its function returns `None` where it does not apply.
type CheckLine = (
    &'static str,
    &'static str,
    &'static [Use],
    fn(&DoctorFacts) -> Option<Finding>,
);

/// Uses of a check that concerns the methods of completion.
const METHODS: &[Use] = &[Tune, Bench];
/// Uses of a check that concerns polling in the kernel.
const POLLING: &[Use] = &[Tune, Bench, KernelPolling];
/// Uses of a check that concerns the kernel's own hybrid polling.
const HYBRID: &[Use] = &[KernelPolling, Bench, Tune];
/// Uses of a check that concerns every measurement.
const ALL: &[Use] = &[Measuring];
/// Uses of a check that concerns measurements, above all those of methods.
const QUIET: &[Use] = &[Measuring, Tune, Bench];
/// Uses of a check that concerns the choice of CPUs.
const CPUS: &[Use] = &[Measuring, Placement];
/// Uses of a check that concerns probes in the kernel.
const PROBES: &[Use] = &[Capture, KernelPolling, Bench, Placement];
const RAM: &[Use] = &[RamDevices];
const FS: &[Use] = &[FileSystems];

const REGISTRY: &[CheckLine] = &[
    ("kernel", "io-uring", METHODS, kernel::io_uring),
    ("kernel", "memlock", &[Bench, Tune], kernel::memlock),
    ("kernel", "hybrid-kernel", HYBRID, kernel::hybrid_kernel),
    ("kernel", "hybrid-uring", METHODS, kernel::hybrid_uring),
    ("kernel", "defer-taskrun", METHODS, kernel::defer_taskrun),
    ("kernel", "mitigations", ALL, kernel::mitigations),
    ("kernel", "command-line", ALL, kernel::command_line),
    ("kernel", "preempt", ALL, kernel::preempt),
    ("kernel", "tick", ALL, kernel::tick),
    ("kernel", "debug-options", ALL, kernel::debug),
    ("kernel", "irq-time", ALL, kernel::irq_time),
    ("kernel", "aio-limit", &[Bench], kernel::aio),
    ("kernel", "hugepages", &[Spdk], kernel::hugepages),
    ("cpu", "governor", ALL, cpu::governor),
    ("cpu", "energy-preference", ALL, cpu::preference),
    ("cpu", "boost", ALL, cpu::boost),
    ("cpu", "smt", CPUS, cpu::smt),
    ("cpu", "isolated", CPUS, cpu::isolated),
    ("cpu", "busy-at-rest", QUIET, cpu::at_rest),
    ("cpu", "load", ALL, cpu::load),
    ("cpu", "steal", ALL, cpu::steal),
    ("idle", "idle-states", ALL, cpu::idle_states),
    ("idle", "idle-governor", ALL, cpu::idle_governor),
    ("idle", "idle-accounting", ALL, cpu::idle_accounting),
    ("thermal", "throttling", ALL, thermal::throttling),
    ("thermal", "device-temperature", ALL, thermal::device),
    ("thermal", "pcie-link", ALL, thermal::link),
    ("numa", "device-node", ALL, irq::node),
    ("numa", "numa-balancing", ALL, irq::balancing),
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
    ("nvme", "nvme-queues", POLLING, queue::nvme_queues),
    ("nvme", "nvme-power", ALL, queue::nvme_power),
    ("nvme", "nvme-state", ALL, queue::nvme_state),
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
    ("record", "bpf", PROBES, abilities::bpf),
    ("record", "btf", &[Capture, KernelPolling], abilities::types),
    ("record", "tracefs", &[Capture], abilities::tracefs),
    ("spdk", "spdk-program", &[Spdk], abilities::spdk),
    ("fs", "mkfs-ext4", FS, |facts| maker(facts, "ext4")),
    ("fs", "mkfs-xfs", FS, |facts| maker(facts, "xfs")),
    ("fs", "mkfs-btrfs", FS, |facts| maker(facts, "btrfs")),
    ("fs", "mkfs-f2fs", FS, |facts| maker(facts, "f2fs")),
    ("fs", "mounting", FS, abilities::mounting),
    ("ramdisk", "ramdisk-module", RAM, abilities::ramdisk_module),
    ("ramdisk", "ublk", RAM, abilities::ublk),
    ("place", "scx", &[Placement], abilities::scx),
    ("place", "moving", &[Placement], abilities::moving),
];

pub(super) fn has(name: &str) -> bool {
    REGISTRY.iter().any(|(_, id, ..)| *id == name)
}

pub(super) fn findings(facts: &DoctorFacts) -> impl Iterator<Item = (&'static CheckLine, Finding)> {
    REGISTRY.iter().filter_map(|line| {
        let (.., check) = line;
        Some((line, check(facts)?))
    })
}

/// Runs the check of this name. `None` if it does not apply.
pub fn check(name: &str, facts: &DoctorFacts) -> Option<(CheckVerdict, String)> {
    let (.., check) = REGISTRY.iter().find(|(_, id, ..)| *id == name)?;
    let finding = check(facts)?;
    Some((finding.verdict, finding.found))
}

/// Runs every check on `facts`. Checks that do not apply are not in the report.
pub fn run(facts: &DoctorFacts) -> DoctorReport {
    let check = |((group, id, uses, _), finding): (&CheckLine, Finding)| Check {
        id: (*id).to_owned(),
        group: (*group).to_owned(),
        uses: uses.to_vec(),
        verdict: finding.verdict,
        fix: finding.remedy.and_then(Remedy::line),
        columns: finding.columns,
        found: finding.found,
        means: finding.means,
    };
    DoctorReport {
        schema: SCHEMA.to_owned(),
        uses: Vec::new(),
        checks: findings(facts).map(check).collect(),
    }
}

/// The uses in the order of the report, each with its needs. A need is a list of checks, of which
/// one must pass or warn. Checks that do not apply are ignored.
const USES: &[(Use, &[&[&str]])] = &[
    (Measuring, &[&["busy-at-rest"]]),
    (Tune, &[&["io-uring"], &["busy-at-rest"]]),
    (Bench, &[&["busy-at-rest"]]),
    (Capture, &[&["bpf", "tracefs"]]),
    (
        KernelPolling,
        &[&["hybrid-kernel"], &["poll-queues"], &["bpf"]],
    ),
    (Spdk, &[&["spdk-program"], &["hugepages"]]),
    (FileSystems, &[MAKERS, &["mounting"]]),
    (RamDevices, &[&["ramdisk-module", "ublk"]]),
    (Placement, &[]),
];
const MAKERS: &[&str] = &["mkfs-ext4", "mkfs-xfs", "mkfs-btrfs", "mkfs-f2fs"];

/// Sorts a report's checks by use, and adds the state of each use. Checks of one use keep their
/// order.
#[must_use]
pub fn sort_by_use(mut report: DoctorReport) -> DoctorReport {
    let state = |(used_for, needs): &(Use, &[&[&str]])| state(*used_for, needs, &report.checks);
    report.uses = USES.iter().map(state).collect();
    report.checks.sort_by_key(|check| {
        let mut uses = USES.iter();
        let position = uses.position(|(used_for, _)| check.uses.first() == Some(used_for));
        position.unwrap_or(USES.len())
    });
    report
}

fn state(of: Use, needs: &[&[&str]], checks: &[Check]) -> UseState {
    let mut checks: Vec<&Check> = checks.iter().collect();
    checks.retain(|check| check.uses.contains(&of));
    let is_warned = |check: &&&Check| check.verdict == CheckVerdict::Warn;
    let (ready, by) = readiness(needs, &checks);
    UseState {
        of,
        ready,
        by,
        to_improve: checks.iter().filter(is_warned).count() as u32,
    }
}

/// The readiness, and the ids of the checks that decide it.
fn readiness(needs: &[&[&str]], checks: &[&Check]) -> (Ready, Vec<String>) {
    let (mut failed, mut unknown) = (Vec::new(), Vec::new());
    for need in needs {
        let is_needed = |check: &&&Check| need.contains(&check.id.as_str());
        let needed = checks.iter().filter(is_needed);
        let has = |verdict| needed.clone().any(|check| check.verdict == verdict);
        let names = needed.clone().map(|check| check.id.clone());
        if has(CheckVerdict::Pass) || has(CheckVerdict::Warn) {
            continue;
        } else if has(CheckVerdict::Unknown) {
            unknown.extend(names);
        } else {
            failed.extend(names);
        }
    }
    let is_refused = |check: &&&Check| check.verdict == CheckVerdict::Invalidates;
    let refused = checks.iter().filter(is_refused);
    let limits: Vec<String> = refused.map(|check| check.id.clone()).collect();
    match (failed.is_empty(), unknown.is_empty()) {
        (false, _) => (Ready::NotReady, failed),
        (true, false) => (Ready::Unknown, unknown),
        (true, true) if limits.is_empty() => (Ready::Ready, limits),
        (true, true) => (Ready::Limited, limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::CheckVerdict::{Invalidates, Pass, Unknown, Warn};

    fn check(id: &str, uses: &[Use], verdict: CheckVerdict) -> Check {
        Check {
            id: id.to_owned(),
            group: "kernel".to_owned(),
            uses: uses.to_vec(),
            verdict,
            columns: Vec::new(),
            found: String::new(),
            means: String::new(),
            fix: None,
        }
    }

    fn sorted_report(checks: Vec<Check>) -> DoctorReport {
        sort_by_use(DoctorReport {
            checks,
            ..DoctorReport::default()
        })
    }

    fn state_of(report: &DoctorReport, of: Use) -> (Ready, Vec<&str>, u32) {
        let state = report.uses.iter().find(|state| state.of == of).unwrap();
        let by = state.by.iter().map(String::as_str).collect();
        (state.ready, by, state.to_improve)
    }

    #[test]
    fn one_of_two_ways_is_enough() {
        let with = |bpf, tracefs| {
            let report = sorted_report(vec![
                check("bpf", &[Use::Capture, Use::KernelPolling], bpf),
                check("tracefs", &[Use::Capture], tracefs),
            ]);
            let (ready, by, _) = state_of(&report, Use::Capture);
            (ready, by.join(" "))
        };
        assert_eq!(with(Pass, Pass), (Ready::Ready, String::new()));
        assert_eq!(with(Invalidates, Pass), (Ready::Limited, "bpf".into()));
        assert_eq!(with(Invalidates, Unknown).0, Ready::Unknown);
        let neither = with(Invalidates, Invalidates);
        assert_eq!(neither, (Ready::NotReady, "bpf tracefs".into()));
    }

    /// Recording goes on beside other work; what is measured does not.
    #[test]
    fn nothing_is_measured_on_a_busy_machine() {
        let measured = [Use::Measuring, Use::Tune, Use::Bench];
        let report = sorted_report(vec![
            check("busy-at-rest", &measured, Invalidates),
            check("io-uring", &[Use::Tune, Use::Bench], Pass),
        ]);
        for measured_use in measured {
            let expected = (Ready::NotReady, vec!["busy-at-rest"], 0);
            assert_eq!(state_of(&report, measured_use), expected);
        }
        assert_eq!(state_of(&report, Use::Capture).0, Ready::Ready);
    }

    #[test]
    fn every_need_counts_and_checks_stand_where_they_fit_best() {
        let report = sorted_report(vec![
            check("hybrid-kernel", &[Use::KernelPolling, Use::Bench], Pass),
            check("governor", &[Use::Measuring], Warn),
            check("bpf", &[Use::Capture, Use::KernelPolling], Invalidates),
            check("io-uring", &[Use::Tune, Use::Bench], Unknown),
        ]);
        let order: Vec<&str> = report.checks.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(order, ["governor", "io-uring", "bpf", "hybrid-kernel"]);
        let polling = state_of(&report, Use::KernelPolling);
        assert_eq!(polling, (Ready::NotReady, vec!["bpf"], 0));
        assert_eq!(state_of(&report, Use::Measuring), (Ready::Ready, vec![], 1));
        assert_eq!(state_of(&report, Use::Tune).0, Ready::Unknown);
        assert_eq!(state_of(&report, Use::Bench), (Ready::Ready, vec![], 0));
    }
}

//! Tests every check with every verdict that it can give, on changes to the good machine.

use super::{GOOD, find, good_target, groups, remove, report};
use crate::tree::Tree;
use Verdict::{Invalidates, Pass, Unknown, Warn};
use q2c_result::Verdict;

/// A change to the good machine, the check that it concerns, the verdict, and parts of the finding
/// and of the fix.
pub type Case = (
    &'static str,
    &'static str,
    Verdict,
    &'static str,
    &'static str,
);

const CASES: &[Case] = &[
    (
        "proc/sys/kernel/io_uring_disabled = 2",
        "io-uring",
        Invalidates,
        "io_uring_disabled=2",
        "echo 0 > /proc/sys/kernel/io_uring_disabled",
    ),
    (
        "proc/sys/kernel/io_uring_disabled = 1",
        "io-uring",
        Unknown,
        "io_uring_group",
        "echo 0 >",
    ),
    (
        "proc/self/limits = Max locked memory         65536            65536            bytes",
        "memlock",
        Warn,
        "65536 bytes",
        "ulimit -l unlimited",
    ),
    (
        "proc/sys/kernel/osrelease = 6.13.0",
        "hybrid-kernel",
        Invalidates,
        "6.13.0",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 5.18.19",
        "hybrid-kernel",
        Pass,
        "5.18",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 5.19.0",
        "hybrid-kernel",
        Invalidates,
        "5.19",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 4.10.0",
        "hybrid-kernel",
        Pass,
        "4.10",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 4.9.0",
        "hybrid-kernel",
        Invalidates,
        "4.9",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = strange",
        "hybrid-kernel",
        Unknown,
        "strange",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 6.12.74",
        "hybrid-uring",
        Invalidates,
        "6.12",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = strange",
        "hybrid-uring",
        Unknown,
        "strange",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 5.10.0",
        "defer-taskrun",
        Warn,
        "5.10",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = 6.1.0",
        "defer-taskrun",
        Pass,
        "6.1",
        "",
    ),
    (
        "proc/sys/kernel/osrelease = strange",
        "defer-taskrun",
        Unknown,
        "strange",
        "",
    ),
    (
        "sys/devices/system/cpu/vulnerabilities/spectre = Mitigation: Retpolines",
        "mitigations",
        Pass,
        "in force: spectre",
        "",
    ),
    (
        "- sys/devices/system/cpu/vulnerabilities",
        "mitigations",
        Unknown,
        "does not tell",
        "",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave",
        "governor",
        Warn,
        "powersave",
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ),
    (
        "- sys/devices/system/cpu/cpu0/cpufreq",
        "governor",
        Unknown,
        "no cpufreq driver",
        "",
    ),
    (
        "sys/devices/system/cpu/intel_pstate/no_turbo = 0",
        "boost",
        Warn,
        "boost is on",
        "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    (
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0-1",
        "smt",
        Warn,
        "2 threads per core",
        "echo off > /sys/devices/system/cpu/smt/control",
    ),
    (
        "- sys/devices/system/cpu/cpu0/topology",
        "smt",
        Unknown,
        "does not tell",
        "",
    ),
    (
        "sys/devices/system/cpu/isolated = 1",
        "isolated",
        Warn,
        "isolcpus: 1; nohz_full: none",
        "",
    ),
    (
        "proc/loadavg = 1.50 0.1 0.1 2/100 5",
        "load",
        Warn,
        "1.50",
        "",
    ),
    // Steal is 200 of 10 000 counts; the 500 guest counts are part of the user counts.
    (
        "proc/stat = cpu  600 0 200 9000 0 0 0 200 500 0",
        "steal",
        Warn,
        "2.00 %",
        "",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 133",
        "idle-states",
        Warn,
        "C1, 133 us",
        "cpupower idle-set --disable-by-latency 10",
    ),
    (
        "- sys/devices/system/cpu/cpu0/cpuidle",
        "idle-states",
        Unknown,
        "no cpuidle states",
        "",
    ),
    (
        "proc/cmdline = nohz=off",
        "idle-accounting",
        Invalidates,
        "nohz=off",
        "remove nohz=off",
    ),
    (
        "proc/interrupts =  CPU0 CPU1\\n 37: 0 6 MSI 1-edge nvme0q1",
        "irq-cpus",
        Warn,
        "37 of nvme0n1 went so far to CPU 1",
        "",
    ),
    (
        "proc/irq/37/effective_affinity_list = 0",
        "irq-cpus",
        Warn,
        "37 of nvme0n1 goes to CPU 0",
        "",
    ),
    (
        "proc/interrupts =  CPU0 CPU1\\n 99: 0 6 MSI 1-edge other",
        "irq-cpus",
        Unknown,
        "no interrupt line of nvme0n1",
        "",
    ),
    (
        "proc/88/comm = irqbalance",
        "irqbalance",
        Warn,
        "irqbalance runs",
        "systemctl stop irqbalance",
    ),
    (
        "QUEUE/rq_affinity = 2",
        "completion-cpu",
        Pass,
        "rq_affinity=2",
        "",
    ),
    (
        "QUEUE/rq_affinity = 9",
        "completion-cpu",
        Unknown,
        "rq_affinity=9",
        "",
    ),
    (
        "QUEUE/io_poll = 0",
        "poll-queues",
        Invalidates,
        "io_poll=0",
        "nvme.poll_queues=2",
    ),
    (
        "QUEUE/nomerges = 0",
        "nomerges",
        Warn,
        "nomerges=0",
        "echo 2 > /sys/block/nvme0n1/queue/nomerges",
    ),
    (
        "QUEUE/iostats = 0",
        "iostats",
        Warn,
        "iostats=0",
        "echo 1 > /sys/block/nvme0n1/queue/iostats",
    ),
    (
        "QUEUE/wbt_lat_usec = 2000",
        "wbt",
        Warn,
        "2000",
        "echo 0 > /sys/block/nvme0n1/queue/wbt_lat_usec",
    ),
    (
        "QUEUE/nr_requests = 32",
        "nr-requests",
        Warn,
        "nr_requests=32",
        "echo 256 > /sys/block/nvme0n1/queue/nr_requests",
    ),
    (
        "QUEUE/nr_requests = many",
        "nr-requests",
        Unknown,
        "many",
        "",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource = hpet",
        "clock",
        Warn,
        "hpet",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "- sys/devices/system/clocksource",
        "clock",
        Unknown,
        "does not tell",
        "",
    ),
    (
        "proc/cpuinfo = flags : tsc constant_tsc",
        "tsc",
        Warn,
        "not invariant",
        "",
    ),
];

#[test]
fn every_verdict() {
    for (change, id, verdict, found, fix) in CASES.iter().chain(groups::CASES) {
        let tree = Tree::new(GOOD);
        let change = groups::spelled(change);
        match change.strip_prefix("- ") {
            Some(path) => remove(&tree.path(path)),
            None => tree.add(&change),
        }
        let checks = report(&tree, &good_target(), None);
        let check = find(&checks, id);
        assert_eq!(check.verdict, *verdict, "{change}: {check:?}");
        let named = !check.columns.is_empty();
        assert_eq!(named, *verdict == Invalidates, "{change}: {check:?}");
        assert!(check.found.contains(found), "{change}: {check:?}");
        assert_eq!(check.fix.is_some(), !fix.is_empty(), "{change}: {check:?}");
        assert!(
            check.fix.as_deref().unwrap_or_default().contains(fix),
            "{change}: {check:?}"
        );
    }
}

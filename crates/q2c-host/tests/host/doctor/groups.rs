//! Tests of the groups of checks: build options, clock, heat, nodes, interrupts, queues, NVMe,
//! state of the target.

use super::cases::Case;
use super::{CHEAP, GOOD, find, good_target, report};
use crate::tree::Tree;
use Verdict::{Invalidates, Pass, Unknown, Warn};
use q2c_host::doctor::{DoctorFacts, ToolCosts, run};
use q2c_model::{Bytes, CpuId};
use q2c_result::{Target, TargetKind, Verdict};

const PREFERENCE: &str = "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference";
const NVME: &str = "sys/devices/pci0/nvme0";

/// A case's change with its abbreviations expanded.
pub fn spelled(change: &str) -> String {
    change
        .replace("QUEUE", super::QUEUE)
        .replace("PREFERENCE", PREFERENCE)
        .replace("NVME", NVME)
}

pub const CASES: &[Case] = &[
    (
        "boot/config-6.13.0 = CONFIG_KASAN=y",
        "debug-options",
        Invalidates,
        "KASAN",
        "",
    ),
    (
        "boot/config-6.13.0 = CONFIG_PROVE_LOCKING=y\\nCONFIG_LOCK_STAT=y",
        "debug-options",
        Invalidates,
        "PROVE_LOCKING",
        "",
    ),
    (
        "boot/config-6.13.0 = CONFIG_LOCK_STAT=y",
        "debug-options",
        Warn,
        "LOCK_STAT",
        "",
    ),
    ("- boot", "debug-options", Unknown, "config.gz", ""),
    (
        "boot/config-6.13.0 = CONFIG_HZ=1000\\nCONFIG_HZ_PERIODIC=y",
        "tick",
        Warn,
        "HZ=1000, periodic",
        "",
    ),
    ("- boot", "tick", Unknown, "config.gz", ""),
    (
        "boot/config-6.13.0 = CONFIG_HZ=100",
        "irq-time",
        Warn,
        "no IRQ_TIME_ACCOUNTING",
        "",
    ),
    ("- boot", "irq-time", Unknown, "config.gz", ""),
    (
        "sys/kernel/debug/sched/preempt = none voluntary (full)",
        "preempt",
        Warn,
        "full",
        "",
    ),
    (
        "sys/kernel/debug/sched/preempt = PREEMPT_RT",
        "preempt",
        Warn,
        "PREEMPT_RT",
        "",
    ),
    (
        "- sys/kernel/debug/sched",
        "preempt",
        Unknown,
        "does not tell",
        "",
    ),
    (
        "proc/cmdline = mitigations=off nosmt quiet",
        "command-line",
        Pass,
        "mitigations=off nosmt",
        "",
    ),
    (
        "proc/cmdline = idle=poll",
        "command-line",
        Warn,
        "idle=poll",
        "",
    ),
    (
        "proc/sys/fs/aio-nr = 40000",
        "aio-limit",
        Warn,
        "40000 of 65536",
        "> /proc/sys/fs/aio-max-nr",
    ),
    (
        "proc/meminfo = HugePages_Total:       0",
        "hugepages",
        Invalidates,
        "0 huge pages",
        "nr_hugepages",
    ),
    (
        "PREFERENCE = balance_performance",
        "energy-preference",
        Warn,
        "balance_performance",
        "tee /sys/devices",
    ),
    ("PREFERENCE = 0", "energy-preference", Pass, "0", ""),
    (
        "sys/devices/system/cpu/cpuidle/current_governor = haltpoll",
        "idle-governor",
        Warn,
        "haltpoll",
        "echo 0 >",
    ),
    (
        "sys/devices/system/cpu/cpuidle/current_governor = ladder",
        "idle-governor",
        Warn,
        "ladder",
        "",
    ),
    (
        "- sys/devices/system/cpu/cpuidle/current_governor",
        "idle-governor",
        Unknown,
        "no cpuidle governor",
        "",
    ),
    (
        "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count = 7",
        "throttling",
        Warn,
        "boot: 7",
        "",
    ),
    (
        "- sys/devices/system/cpu/cpu0/thermal_throttle",
        "throttling",
        Unknown,
        "counts none",
        "",
    ),
    (
        "NVME/hwmon1/temp1_input = 77850",
        "device-temperature",
        Warn,
        "77 C, limit 81 C",
        "",
    ),
    (
        "NVME/hwmon1/temp1_input = 76000",
        "device-temperature",
        Pass,
        "76 C, limit 81 C",
        "",
    ),
    (
        "- NVME/hwmon1/temp1_max",
        "device-temperature",
        Unknown,
        "limit not told",
        "",
    ),
    (
        "- NVME/hwmon1",
        "device-temperature",
        Unknown,
        "tells no temperature",
        "",
    ),
    (
        "sys/devices/pci0/current_link_speed = 8.0 GT/s PCIe",
        "pcie-link",
        Warn,
        "8.0 GT/s PCIe x4 of 16.0",
        "",
    ),
    (
        "sys/devices/pci0/current_link_width = 2",
        "pcie-link",
        Warn,
        "x2 of",
        "",
    ),
    (
        "sys/devices/pci0/current_link_speed = Unknown",
        "pcie-link",
        Unknown,
        "Unknown x4",
        "",
    ),
    (
        "- sys/devices/system/node",
        "device-node",
        Unknown,
        "no nodes",
        "",
    ),
    (
        "sys/kernel/debug/irq/irqs/37 = IRQD_ACTIVATED",
        "irq-managed",
        Pass,
        "not every line",
        "",
    ),
    (
        "- sys/kernel/debug/irq",
        "irq-managed",
        Unknown,
        "debugfs only",
        "",
    ),
    (
        "proc/interrupts =  CPU0 CPU1\\n 37: 5 6 IO-APIC 9-fasteoi nvme0q1, snd_hda",
        "irq-shared",
        Invalidates,
        "37 (nvme0q1, snd_hda)",
        "",
    ),
    (
        "- NVME/nvme0n1/mq",
        "hardware-queues",
        Warn,
        "takes bios",
        "",
    ),
    (
        "- NVME/nvme0n1/mq/0",
        "hardware-queues",
        Pass,
        "2 queues, 1023 tags each (1 default, 1 poll)",
        "",
    ),
    (
        "QUEUE/read_ahead_kb = 4096",
        "read-ahead",
        Pass,
        "read_ahead_kb=4096",
        "",
    ),
    (
        "sys/module/nvme/parameters/poll_queues = 0",
        "nvme-queues",
        Warn,
        "poll_queues=0",
        "",
    ),
    (
        "QUEUE/io_poll = 0",
        "nvme-queues",
        Invalidates,
        "poll_queues=2",
        "> /sys/class/nvme/nvme0/reset_controller",
    ),
    (
        "- sys/module/nvme",
        "nvme-queues",
        Unknown,
        "no poll_queues",
        "",
    ),
    (
        "NVME/power/pm_qos_latency_tolerance_us = 100000",
        "nvme-power",
        Warn,
        "100000 us",
        "echo 0 > /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us",
    ),
    (
        "- NVME/power",
        "nvme-power",
        Unknown,
        "no latency tolerance",
        "",
    ),
    (
        "NVME/state = resetting",
        "nvme-state",
        Invalidates,
        "resetting",
        "",
    ),
    (
        "proc/self/mountinfo = 30 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw",
        "mounted",
        Pass,
        "no file system",
        "",
    ),
    (
        "proc/self/mountinfo = 30 22 259:0 / /data rw - xfs /dev/nvme0n1 rw",
        "mounted",
        Warn,
        "mounted at /data",
        "",
    ),
    (
        "QUEUE/write_cache = write back",
        "write-cache",
        Warn,
        "write back",
        "",
    ),
    ("QUEUE/write_cache = odd", "write-cache", Unknown, "odd", ""),
    (
        "QUEUE/logical_block_size = 512",
        "block-size",
        Warn,
        "512 B blocks on 4096 B",
        "",
    ),
    (
        "proc/meminfo = MemTotal: 268435456 kB",
        "target-memory",
        Warn,
        "of memory",
        "",
    ),
];

/// The good machine with a change.
fn changed(lines: &str) -> Tree {
    let tree = Tree::new(GOOD);
    tree.add(lines);
    tree
}

fn verdict(tree: &Tree, target: &Target, id: &str) -> Verdict {
    find(&report(tree, target, None), id).verdict
}

#[test]
fn polled_columns_need_queues_of_their_own() {
    let both = changed(&format!(
        "sys/module/nvme/parameters/poll_queues = 0\n{NVME}/nvme0n1/queue/io_poll = 0"
    ));
    let checks = report(&both, &good_target(), None);
    let queues = find(&checks, "nvme-queues");
    assert_eq!(queues.verdict, Invalidates);
    assert!(queues.columns.contains(&"iopoll".to_owned()));
    assert!(
        queues
            .fix
            .as_deref()
            .unwrap()
            .starts_with("nvme.poll_queues=2")
    );
    // A disk of another driver has no NVMe checks.
    let tree = Tree::new(&GOOD.replace("nvme0n1", "vdb"));
    let mut target = good_target();
    target.device.as_mut().unwrap().name = "vdb".into();
    let others = report(&tree, &target, None);
    assert!(others.iter().all(|c| c.group != "nvme") && others.iter().any(|c| c.group == "queue"));
}

#[test]
fn one_queue_for_all_cpus() {
    let tree = Tree::new(GOOD);
    for queue in ["0", "1"] {
        std::fs::remove_dir_all(tree.path(&format!("{NVME}/nvme0n1/mq/{queue}"))).unwrap();
    }
    let checks = report(&tree, &good_target(), None);
    let check = find(&checks, "hardware-queues");
    assert_eq!(check.verdict, Warn);
    assert_eq!(check.found, "nvme0n1: 1 queue, 1023 tags each (1 poll)");
}

#[test]
fn a_mounted_partition_counts() {
    let tree = changed(&format!(
        "{NVME}/nvme0n1/nvme0n1p1/partition = 1
         {NVME}/nvme0n1/nvme0n1p1/dev = 259:1
         proc/self/mountinfo = 30 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw"
    ));
    assert_eq!(verdict(&tree, &good_target(), "mounted"), Warn);
}

#[test]
fn files_were_checked_when_they_were_opened() {
    let file = |unproved: &[&str]| Target {
        kind: TargetKind::File,
        file_system: Some("ext4".into()),
        unproved: unproved.iter().map(|&u| u.to_owned()).collect(),
        size: Bytes(100 << 30),
        ..good_target()
    };
    let tree = Tree::new(GOOD);
    assert_eq!(verdict(&tree, &file(&[]), "target-written"), Pass);
    let doubt = "whether the file is fully written: its file system does not tell where it lies (EOPNOTSUPP)";
    assert_eq!(verdict(&tree, &file(&[doubt]), "target-written"), Unknown);
    assert_eq!(verdict(&tree, &good_target(), "target-written"), Unknown);
    let all = report(&tree, &file(&[]), None);
    assert!(
        all.iter().all(|c| c.id != "mounted"),
        "a file's system is mounted, of course"
    );
}

/// Two sockets with four threads: 0 and 2 are one core on node 0, 1 and 3 one core on node 1. The
/// device is on node 0.
fn two_nodes() -> Tree {
    let mut lines = String::from(
        "sys/devices/system/cpu/online = 0-3
         sys/devices/system/node/node0/cpulist = 0,2
         sys/devices/system/node/node1/cpulist = 1,3
         proc/sys/kernel/numa_balancing = 0\n",
    );
    for cpu in 0..4 {
        let siblings = [cpu % 2, cpu % 2 + 2].map(|c| c.to_string()).join(",");
        lines += &format!(
            "sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list = {siblings}\n"
        );
    }
    changed(&lines)
}

#[test]
fn jobs_far_from_the_device_and_on_one_core() {
    let tree = two_nodes();
    let (roots, target) = (tree.roots(), good_target());
    let with = |jobs: &[u32], id: &str| {
        let jobs: Vec<CpuId> = jobs.iter().copied().map(CpuId).collect();
        let report = run(&DoctorFacts::new(&roots, Some(&target)).with_jobs(&jobs));
        let check = find(&report.checks, id);
        (check.verdict, check.found.clone())
    };
    assert_eq!(
        with(&[], "device-node"),
        (Pass, "nvme0n1 is on node 0 (CPUs 0,2)".into())
    );
    assert_eq!(with(&[0], "device-node").0, Pass);
    let far = with(&[0, 1, 3], "device-node");
    assert!(
        far.0 == Warn && far.1.ends_with("jobs on CPUs 1,3"),
        "{far:?}"
    );
    assert_eq!(
        [
            with(&[], "smt").0,
            with(&[0, 2], "smt").0,
            with(&[0, 1], "smt").0
        ],
        [Warn, Warn, Pass]
    );
    assert_eq!(with(&[], "numa-balancing").0, Pass);
    tree.add("proc/sys/kernel/numa_balancing = 1");
    assert_eq!(with(&[], "numa-balancing").0, Warn);
    std::fs::remove_file(tree.path("sys/devices/pci0/numa_node")).unwrap();
    assert_eq!(with(&[], "device-node").0, Unknown);
}

#[test]
fn a_clock_that_cannot_move_needs_no_governor() {
    let fixed = "sys/devices/system/cpu/online = 0
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = schedutil
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq = 2400000
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq = 2400000";
    assert_eq!(verdict(&changed(fixed), &good_target(), "governor"), Pass);
    let free = changed(&fixed.replace("max_freq = 2400000", "max_freq = 3600000"));
    assert_eq!(verdict(&free, &good_target(), "governor"), Warn);
    // If one CPU does not tell its limits, the frequency of all is not known to be fixed.
    let unsure = changed(&fixed.replace("online = 0", "online = 0-1"));
    assert_eq!(verdict(&unsure, &good_target(), "governor"), Warn);
}

#[test]
fn idle_states_that_are_off_do_not_count() {
    let deep = "sys/devices/system/cpu/online = 0
                sys/devices/system/cpu/cpu0/cpuidle/state1/name = C6
                sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 133
                sys/devices/system/cpu/cpu0/cpuidle/state1/disable = 1";
    assert_eq!(verdict(&changed(deep), &good_target(), "idle-states"), Pass);
    let open = changed(&deep.replace("disable = 1", "disable = 0"));
    assert_eq!(verdict(&open, &good_target(), "idle-states"), Warn);
    // The deepest state is off on one CPU only.
    let half = changed(&deep.replace("online = 0", "online = 0-1"));
    assert_eq!(verdict(&half, &good_target(), "idle-states"), Warn);
}

#[test]
fn haltpoll_that_does_not_spin() {
    let tree = changed(
        "sys/devices/system/cpu/cpuidle/current_governor = haltpoll
         sys/module/haltpoll/parameters/guest_halt_poll_ns = 0",
    );
    assert_eq!(verdict(&tree, &good_target(), "idle-governor"), Pass);
}

#[test]
fn the_tools_own_costs() {
    let tree = Tree::new(GOOD);
    let roots = tree.roots();
    let with = |costs: ToolCosts, id: &str| {
        let report = run(&DoctorFacts::new(&roots, None).with_costs(costs));
        let check = find(&report.checks, id);
        (check.verdict, check.found.clone())
    };
    // 31 ns per I/O are 32.3 million I/Os per second.
    assert_eq!(
        with(CHEAP, "empty-loop"),
        (Pass, "31 ns of CPU per empty I/O, 32.3 M/s per core".into())
    );
    assert_eq!(with(CHEAP, "clock-cost").0, Pass);
    let dear = ToolCosts {
        clock_ns: 400.0,
        empty_loop_ns: 90.0,
    };
    assert_eq!(
        [with(dear, "empty-loop").0, with(dear, "clock-cost").0],
        [Warn, Warn]
    );
    let unmeasured = run(&DoctorFacts::new(&roots, None)).checks;
    assert!(
        unmeasured
            .iter()
            .all(|c| c.id != "empty-loop" && c.id != "clock-cost")
    );
}

#[test]
fn a_model_that_can_change_is_the_one_booted_or_built() {
    let tree = changed("proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Fri");
    std::fs::remove_dir_all(tree.path("sys/kernel/debug/sched")).unwrap();
    let found = || {
        let checks = report(&tree, &good_target(), None);
        let check = find(&checks, "preempt");
        (check.verdict, check.found.clone())
    };
    assert_eq!(found(), (Unknown, "PREEMPT_DYNAMIC".into()));
    tree.add("boot/config-6.13.0 = CONFIG_PREEMPT_VOLUNTARY=y");
    assert_eq!(found(), (Pass, "voluntary".into()));
    tree.add("proc/cmdline = preempt=full quiet");
    assert_eq!(found(), (Warn, "full".into()));
}

#[test]
fn a_report_of_before_columns_is_read() {
    let old =
        r#"{"id":"x","group":"cpu","verdict":"invalidates","found":"a","means":"b","fix":null}"#;
    let check: q2c_result::Check = serde_json::from_str(old).unwrap();
    assert!(check.columns.is_empty());
    assert_eq!(serde_json::to_string(&check).unwrap(), old);
}

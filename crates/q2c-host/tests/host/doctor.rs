//! Tests the checks on fake trees, and on this machine. Module `cases` tests all verdicts of each
//! check, with the lines of the modules beside it.

mod abilities;
mod cases;
mod cpu;
mod fix;
mod kernel;
mod nodes;
mod queues;
mod target;
mod tool;

use crate::tree::SysProcTree;
use CheckVerdict::{Invalidates, Pass, Unknown, Warn};
use q2c_host::Roots;
use q2c_host::doctor::{DoctorFacts, RingProbe, ToolCosts, run};
use q2c_model::{Bytes, CpuId};
use q2c_result::{Check, CheckVerdict, CpuTrial, Device, Target, TargetKind};
use std::collections::BTreeSet;

/// A machine on which every check passes, except [`NEVER_WELL`].
const GOOD: &str = "
    proc/sys/kernel/osrelease = 6.13.0
    proc/sys/kernel/io_uring_disabled = 0
    proc/self/limits = Limit Soft Hard Units\\nMax locked memory         unlimited            unlimited            bytes
    proc/cpuinfo = flags : tsc constant_tsc nonstop_tsc
    proc/loadavg = 0.02 0.10 0.20 1/100 4242
    proc/stat = cpu  100 0 100 9000 0 0 0 10 500 0
    proc/cmdline = root=/dev/vda
    proc/77/comm = bash
    proc/interrupts =  CPU0 CPU1\\n 36: 0 0 MSI 0-edge nvme0q0\\n 37: 5 6 MSI 1-edge nvme0q1
    sys/devices/system/cpu/online = 0-1
    sys/devices/system/cpu/isolated =
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0
    sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = performance
    sys/devices/system/cpu/intel_pstate/no_turbo = 1
    sys/devices/system/cpu/vulnerabilities/x = Not affected
    sys/devices/system/cpu/cpuidle/current_driver = intel_idle
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = C1
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 2
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet
    sys/devices/pci0/nvme0/msi_irqs/37 = msix
    sys/devices/pci0/nvme0/nvme0n1/dev = 259:0
    sys/devices/pci0/nvme0/nvme0n1/queue/io_poll = 1
    sys/devices/pci0/nvme0/nvme0n1/queue/nomerges = 2
    sys/devices/pci0/nvme0/nvme0n1/queue/iostats = 1
    sys/devices/pci0/nvme0/nvme0n1/queue/wbt_lat_usec = 0
    sys/devices/pci0/nvme0/nvme0n1/queue/nr_requests = 1023
    sys/devices/pci0/nvme0/nvme0n1/queue/rq_affinity = 1
    sys/block/nvme0n1 -> ../devices/pci0/nvme0/nvme0n1
    proc/meminfo = MemTotal: 4194304 kB\\nHugePages_Total:    512
    proc/self/mountinfo = 22 1 254:1 / / rw - ext4 /dev/vda1 rw
    proc/sys/fs/aio-nr = 128
    proc/sys/fs/aio-max-nr = 65536
    boot/config-6.13.0 = CONFIG_HZ=250\\nCONFIG_IRQ_TIME_ACCOUNTING=y\\nCONFIG_DEBUG_INFO=y
    sys/kernel/debug/sched/preempt = none (voluntary) full
    sys/kernel/debug/irq/irqs/37 = dstate: 0x1\\n IRQD_ACTIVATED\\n IRQD_AFFINITY_MANAGED
    sys/kernel/debug/block/nvme0n1/hctx0/type = default
    sys/kernel/debug/block/nvme0n1/hctx1/type = default
    sys/kernel/debug/block/nvme0n1/hctx2/type = poll
    sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference = performance
    sys/devices/system/cpu/cpuidle/current_governor = menu
    sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 0
    sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count = 0
    sys/devices/system/node/node0/cpulist = 0-1
    sys/devices/pci0/numa_node = 0
    sys/devices/pci0/current_link_speed = 16.0 GT/s PCIe
    sys/devices/pci0/max_link_speed = 16.0 GT/s PCIe
    sys/devices/pci0/current_link_width = 4
    sys/devices/pci0/max_link_width = 4
    sys/devices/pci0/nvme0/state = live
    sys/devices/pci0/nvme0/power/pm_qos_latency_tolerance_us = 0
    sys/devices/pci0/nvme0/hwmon1/temp1_input = 41850
    sys/devices/pci0/nvme0/hwmon1/temp1_max = 81850
    sys/module/nvme/parameters/poll_queues = 2
    sys/module/nvme/parameters/write_queues = 0
    sys/devices/pci0/nvme0/nvme0n1/mq/0/nr_tags = 1023
    sys/devices/pci0/nvme0/nvme0n1/mq/1/nr_tags = 1023
    sys/devices/pci0/nvme0/nvme0n1/mq/2/nr_tags = 1023
    sys/devices/pci0/nvme0/nvme0n1/queue/read_ahead_kb = 128
    sys/devices/pci0/nvme0/nvme0n1/queue/write_cache = write through
    sys/devices/pci0/nvme0/nvme0n1/queue/logical_block_size = 4096
    sys/devices/pci0/nvme0/nvme0n1/queue/physical_block_size = 4096
    journal/
";

fn good_target() -> Target {
    Target {
        path: "/dev/nvme0n1".into(),
        kind: TargetKind::Block,
        size: Bytes(100 << 30),
        device: Some(Device {
            name: "nvme0n1".into(),
            scheduler: Some("none".into()),
            ..Device::default()
        }),
        ..Target::default()
    }
}

const CHEAP: ToolCosts = ToolCosts {
    clock_ns: 10.0,
    empty_loop_ns: 31.0,
};

/// Checks that cannot pass on the good machine: the first is impossible on so new a kernel, the
/// second cannot be known of a block device.
const NEVER_WELL: [&str; 2] = ["hybrid-kernel", "target-written"];

/// The verdict of one check on a good machine with this target.
fn verdict(target: &Target, id: &str) -> CheckVerdict {
    find(&report(&SysProcTree::new(GOOD), target, None), id).verdict
}

fn report(tree: &SysProcTree, target: &Target, ring: Option<RingProbe>) -> Vec<Check> {
    let roots = tree.roots();
    let mut facts = DoctorFacts::new(&roots, Some(target));
    facts.journal = Some(tree.path("journal"));
    facts.costs = Some(CHEAP);
    facts.ring = ring;
    let report = run(&facts);
    assert_eq!(report.schema, "q2c.doctor/1");
    report.checks
}

fn find<'a>(checks: &'a [Check], id: &str) -> &'a Check {
    checks.iter().find(|c| c.id == id).expect(id)
}

const QUEUE: &str = "sys/devices/pci0/nvme0/nvme0n1/queue";

fn remove(path: &std::path::Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap()
    } else {
        std::fs::remove_file(path).unwrap()
    }
}

#[test]
fn the_good_machine_passes() {
    let tree = SysProcTree::new(GOOD);
    let checks = report(&tree, &good_target(), Some(RingProbe::Works));
    let is_well = |check: &&Check| !NEVER_WELL.contains(&check.id.as_str());
    for check in checks.iter().filter(is_well) {
        assert_eq!(check.verdict, Pass, "{check:?}");
        assert_eq!(check.fix, None, "{check:?}");
        assert!(!check.found.is_empty() && !check.means.is_empty());
    }
    let ids: BTreeSet<&str> = checks.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids.len(), checks.len(), "names are unique");
}

/// The check `id` on a machine with `busy` CPUs busy at rest; `None` if that was not measured.
fn at_rest(tree: &SysProcTree, busy: Option<f64>, id: &str) -> Option<Check> {
    let roots = tree.roots();
    let mut facts = DoctorFacts::new(&roots, None);
    facts.idle_busy_cpus = busy;
    let mut checks = run(&facts).checks.into_iter();
    checks.find(|check| check.id == id)
}

/// Where nobody measured how busy the CPUs are, there is no check of it.
#[test]
fn busy_cpus_are_told_where_they_were_measured() {
    let tree = SysProcTree::new(GOOD);
    let check = |busy| at_rest(&tree, busy, "busy-at-rest");
    assert_eq!(check(None), None);
    assert_eq!(check(Some(0.05)).unwrap().verdict, Pass);
    let busy = check(Some(1.4)).unwrap();
    assert_eq!(busy.verdict, Invalidates);
    assert_eq!(busy.found, "1.40 of 2 CPUs are busy while q2c does nothing");
}

/// `loadavg` covers the last minute; if the CPUs are quiet now, the load has ended.
#[test]
fn a_load_of_the_past_disturbs_nothing() {
    let tree = SysProcTree::new(GOOD);
    tree.add("proc/loadavg = 0.76 0.1 0.1 2/100 5");
    let ended = at_rest(&tree, Some(0.0), "load").unwrap();
    assert_eq!(ended.verdict, Pass);
    assert_eq!(ended.means, "what ran has ended");
    for busy in [None, Some(1.4)] {
        let load = at_rest(&tree, busy, "load").unwrap();
        assert_eq!(load.verdict, Warn, "{busy:?}");
        assert!(load.means.starts_with("something else runs"), "{load:?}");
    }
}

#[test]
fn a_tried_ring_decides() {
    let tree = SysProcTree::new(GOOD);
    let refused = || Some(RingProbe::Refused("Operation not permitted".into()));
    let filtered = report(&tree, &good_target(), refused());
    let check = find(&filtered, "io-uring");
    assert_eq!((check.verdict, check.fix.as_ref()), (Invalidates, None));
    assert!(check.found.contains("Operation not permitted"));
    tree.add("proc/sys/kernel/io_uring_disabled = 1");
    let by_sysctl = report(&tree, &good_target(), refused());
    assert!(find(&by_sysctl, "io-uring").fix.is_some());
    let tried = report(&tree, &good_target(), Some(RingProbe::Works));
    assert_eq!(find(&tried, "io-uring").verdict, Pass);
}

#[test]
fn targets() {
    let kind = |system: Option<&str>| {
        let file = Target {
            kind: TargetKind::File,
            file_system: system.map(str::to_owned),
            ..good_target()
        };
        verdict(&file, "target-kind")
    };
    let of_target = |change: fn(&mut Target), id| {
        let mut target = good_target();
        change(&mut target);
        verdict(&target, id)
    };
    let kinds = [kind(Some("ext4")), kind(Some("btrfs")), kind(None)];
    assert_eq!(kinds, [Pass, Invalidates, Unknown]);
    assert_eq!(of_target(|t| t.size = Bytes(1 << 30), "target-size"), Warn);
    let unproved = of_target(|t| t.unproved = vec!["x".into()], "target-proved");
    assert_eq!(unproved, Warn);
    assert_eq!(of_target(|t| t.device = None, "target-proved"), Invalidates);
    let with = |name: Option<&str>| {
        let mut target = good_target();
        target.device.as_mut().unwrap().scheduler = name.map(str::to_owned);
        let checks = report(&SysProcTree::new(GOOD), &target, None);
        let check = find(&checks, "scheduler");
        (check.verdict, check.fix.clone())
    };
    let fix = "echo none > /sys/block/nvme0n1/queue/scheduler".to_owned();
    assert_eq!(with(Some("mq-deadline")), (Warn, Some(fix)));
    assert_eq!(with(None), (Unknown, None));
}

/// The proof must not promise a count that another check reports as missing. A device such as zram
/// has no interrupts, and `iostats` of any device can be off.
#[test]
fn what_is_not_counted_is_no_proof() {
    for (irqs, iostats, verdict, words) in [
        (Unknown, Pass, Warn, "its interrupts cannot"),
        (Pass, Warn, Warn, "its requests cannot"),
        (
            Unknown,
            Warn,
            Invalidates,
            "neither interrupts nor requests",
        ),
    ] {
        let tree = SysProcTree::new(GOOD);
        if irqs == Unknown {
            remove(&tree.path("sys/devices/pci0/nvme0/msi_irqs"));
            tree.add("proc/interrupts =  CPU0 CPU1\\n 9: 5 6 MSI 1-edge eth0");
        }
        if iostats == Warn {
            tree.add("sys/devices/pci0/nvme0/nvme0n1/queue/iostats = 0");
        }
        let checks = report(&tree, &good_target(), None);
        let verdicts = ["irq-cpus", "iostats", "target-proved"].map(|id| find(&checks, id).verdict);
        assert_eq!(verdicts, [irqs, iostats, verdict]);
        let means = &find(&checks, "target-proved").means;
        assert!(means.contains(words), "{means}");
    }
}

#[test]
fn trials_on_cpus_stand_beside_their_interrupts() {
    let trial = |(cpu, interrupt_iops)| CpuTrial {
        cpu: CpuId(cpu),
        interrupt_iops,
        ..CpuTrial::default()
    };
    let target = Target {
        cpu_trials: [(0, 11_900.4), (1, 16_400.0)].map(trial).into(),
        ..good_target()
    };
    let checks = report(&SysProcTree::new(GOOD), &target, None);
    let text = &find(&checks, "irq-cpus").found;
    let expected = "reaches 11900 IOPS on CPU 0 and 16400 IOPS on CPU 1 at best";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn without_a_target_its_checks_are_left_out() {
    let tree = SysProcTree::new(GOOD);
    let checks = run(&DoctorFacts::new(&tree.roots(), None)).checks;
    let groups: BTreeSet<&str> = checks.iter().map(|c| c.group.as_str()).collect();
    let wanted = ["cpu", "idle", "irq", "kernel", "thermal", "tool"];
    assert!(groups.into_iter().eq(wanted));
}

#[test]
fn settings_left_by_a_killed_run() {
    let tree = SysProcTree::new(GOOD);
    tree.add("proc/sys/kernel/random/boot_id = this-boot");
    let line = r#"{"event":"change","seq":0,"boot_id":"this-boot","pid":4000000,"start_time":1,"object":"/sys/x","old":"1","written":"2"}"#;
    tree.add(&format!("journal/4000000-1.jsonl = {line}"));
    let checks = report(&tree, &good_target(), None);
    let check = find(&checks, "restore-pending");
    assert_eq!(check.verdict, Warn);
    assert_eq!(check.fix.as_deref(), Some("q2c restore"));
    assert!(check.found.contains("/sys/x"));
    std::fs::remove_file(tree.path("journal/4000000-1.jsonl")).unwrap();
    std::fs::create_dir(tree.path("journal/unreadable.jsonl")).unwrap();
    let checks = report(&tree, &good_target(), None);
    assert_eq!(find(&checks, "restore-pending").verdict, Unknown);
}

#[test]
fn this_machine_can_be_asked() {
    let report = run(&DoctorFacts::new(&Roots::live(), None));
    assert!(report.checks.len() > 10);
    let has_text = |c: &Check| !c.found.is_empty() && !c.means.is_empty();
    assert!(report.checks.iter().all(has_text));
}

use crate::tree::SysProcTree;
use q2c_host::machine;
use q2c_model::{Bytes, CpuId};

const FULL: &str = "
    proc/sys/kernel/osrelease = 6.13.2-test
    proc/sys/kernel/arch = x86_64
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Fri
    proc/cpuinfo = processor\t: 0\\nmodel name\t: Some CPU 3000\\nflags\t\t: fpu tsc constant_tsc nonstop_tsc hypervisor
    proc/meminfo = MemTotal:       2048 kB\\nMemFree: 1 kB
    proc/cmdline = root=/dev/vda mitigations=off nvme.poll_queues=4 nosmt secret=x
    sys/devices/system/cpu/online = 0-1,4
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0,4
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list = 1
    sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = performance
    sys/devices/system/cpu/cpu1/cpufreq/scaling_governor = schedutil
    sys/devices/system/cpu/cpuidle/current_driver = intel_idle
    sys/devices/system/cpu/cpuidle/current_governor = menu
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = POLL
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 0
    sys/devices/system/cpu/cpu0/cpuidle/state1/name = C1E
    sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 2
    sys/devices/system/cpu/vulnerabilities/meltdown = Not affected
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc kvm-clock
    sys/devices/system/node/online = 0-1
    sys/kernel/debug/sched/preempt = none (voluntary) full
";

#[test]
fn a_host_has_a_name_and_a_kernel() {
    let tree = "proc/sys/kernel/osrelease = 6.13.2-test";
    assert_eq!(machine::host(&SysProcTree::new(tree).roots()), None);
    let tree = SysProcTree::new(&format!("{tree}\nproc/sys/kernel/hostname = node7"));
    let host = machine::host(&tree.roots());
    assert_eq!(host.as_deref(), Some("node7, Linux 6.13.2-test"));
}

#[test]
fn every_fact() {
    let facts = machine::read(&SysProcTree::new(FULL).roots());
    assert_eq!(facts.kernel, "6.13.2-test");
    assert_eq!(facts.arch, "x86_64");
    assert_eq!(facts.cpu_model.as_deref(), Some("Some CPU 3000"));
    assert_eq!(facts.cpus_online, [CpuId(0), CpuId(1), CpuId(4)]);
    assert_eq!(facts.threads_per_core, Some(2));
    assert_eq!(facts.numa_nodes, Some(2));
    assert_eq!(facts.memory, Some(Bytes(2 << 20)));
    assert_eq!(facts.hypervisor.as_deref(), Some("kvm"));
    assert_eq!(facts.governor.as_deref(), Some("performance, schedutil"));
    assert_eq!(facts.idle_driver.as_deref(), Some("intel_idle"));
    assert_eq!(facts.idle_governor.as_deref(), Some("menu"));
    let states = [("POLL".to_owned(), 0), ("C1E".to_owned(), 2)];
    assert_eq!(facts.idle_states, states);
    assert_eq!(facts.clocksource.as_deref(), Some("tsc"));
    assert_eq!(facts.tsc_invariant, Some(true));
    assert_eq!(facts.preempt.as_deref(), Some("voluntary"));
    let other = facts.other.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    let expected = [
        ("command line mitigations", "off"),
        ("command line nosmt", ""),
        ("command line nvme.poll_queues", "4"),
        ("vulnerability meltdown", "Not affected"),
    ];
    assert!(other.eq(expected));
}

#[test]
fn what_cannot_be_read_is_not_guessed() {
    let facts = machine::read(&SysProcTree::new("proc/sys/kernel/version = #1 SMP Debian").roots());
    assert!(facts.cpus_online.is_empty() && facts.idle_states.is_empty() && facts.other.is_empty());
    let cpu = (facts.cpu_model, facts.tsc_invariant, facts.hypervisor);
    assert_eq!(cpu, (None, None, None));
    let others = (facts.memory, facts.governor, facts.clocksource);
    assert_eq!(others, (None, None, None));
    assert_eq!(facts.preempt.as_deref(), Some("none or voluntary"));
}

#[test]
fn free_memory_is_what_the_tightest_limit_leaves() {
    let free = |more: &str| {
        let tree = format!("proc/meminfo = MemTotal: 9000 kB\\nMemAvailable: 8000 kB\n{more}");
        machine::free_memory(&SysProcTree::new(&tree).roots())
    };
    let group = "proc/self/cgroup = 0::/a/b\n";
    let limit = |name: &str, most: &str| {
        let folder = format!("sys/fs/cgroup/{name}");
        format!("{folder}/memory.max = {most}\n{folder}/memory.current = 1000000\n")
    };
    assert_eq!(free(""), Some(Bytes(8_192_000)));
    let unlimited = limit("a/b", "max");
    assert_eq!(free(&format!("{group}{unlimited}")), Some(Bytes(8_192_000)));
    let above = limit("a", "4000000");
    let both = format!("{group}{unlimited}{above}");
    assert_eq!(free(&both), Some(Bytes(3_000_000)));
    let not_its_own = free(&limit("a", "4000000"));
    assert_eq!(not_its_own, Some(Bytes(8_192_000)));
    assert_eq!(machine::free_memory(&SysProcTree::new("").roots()), None);
}

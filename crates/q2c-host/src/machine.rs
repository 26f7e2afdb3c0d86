//! Facts about the machine. A fact that cannot be read is `None`, never guessed.

use crate::{Roots, attr};
use itertools::Itertools;
use q2c_model::{Bytes, CpuId};
use q2c_result::Machine;
use q2c_service::SimMachine;
use rustix::system::uname;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Items of the kernel command line that change measured results. `x.` stands for all options of
/// module `x`.
const COMMAND_LINE_ITEMS: &str = "mitigations isolcpus nohz nohz_full rcu_nocbs irqaffinity idle \
    maxcpus nosmt preempt threadirqs clocksource tsc intel_pstate amd_pstate intel_idle. \
    processor. cpuidle_haltpoll. nvme.";

/// Reads all facts about the machine that results record.
pub fn read(roots: &Roots) -> Machine {
    let cpuinfo = fs::read_to_string(roots.proc("cpuinfo")).unwrap_or_default();
    let cpus_online = online(roots);
    let first_cpu = cpus_online.first().copied().unwrap_or_default();
    let idle = |name| attr::text(&roots.sys(&format!("devices/system/cpu/cpuidle/{name}")));
    let nodes = attr::cpus(&roots.sys("devices/system/node/online"));
    let mut model_fields = ["model name", "Model", "cpu"].iter();
    Machine {
        kernel: attr::text(&roots.proc("sys/kernel/osrelease")).unwrap_or_default(),
        arch: arch(roots),
        cpu_model: model_fields.find_map(|f| field(&cpuinfo, f)),
        threads_per_core: threads_per_core(roots, &cpus_online),
        numa_nodes: nodes.map(|nodes| nodes.len() as u32),
        memory: memory_field(roots, "MemTotal"),
        hypervisor: hypervisor(roots, &cpuinfo),
        governor: governors(roots, &cpus_online),
        idle_driver: idle("current_driver"),
        idle_governor: idle("current_governor").or_else(|| idle("current_governor_ro")),
        idle_states: idle_states(roots, first_cpu),
        clocksource: clocksource(roots, "current"),
        tsc_invariant: tsc_invariant(&cpuinfo),
        preempt: preempt(roots),
        other: other_facts(roots),
        simulated: None,
        cpus_online,
    }
}

/// The facts of a simulated machine with these CPUs; its kernel is `simulated`.
pub fn simulated(machine: &SimMachine, cpus: Vec<CpuId>) -> Machine {
    Machine {
        kernel: "simulated".to_owned(),
        threads_per_core: Some(machine.threads),
        numa_nodes: Some(machine.nodes),
        cpus_online: cpus,
        simulated: Some(machine.clone()),
        ..Machine::default()
    }
}

/// Host name and kernel release, as `node7, Linux 6.18.0`; `None` where either cannot be read.
pub fn host(roots: &Roots) -> Option<String> {
    let name = attr::text(&roots.proc("sys/kernel/hostname"))?;
    let kernel = attr::text(&roots.proc("sys/kernel/osrelease"))?;
    Some(format!("{name}, Linux {kernel}"))
}

/// The CPUs that are online, in ascending order; empty when sysfs does not list them.
pub fn online(roots: &Roots) -> Vec<CpuId> {
    attr::cpus(&roots.sys("devices/system/cpu/online")).unwrap_or_default()
}

/// The frequency governor of `cpus`; if they differ, all names, joined by commas. `None` without a
/// cpufreq driver.
fn governors(roots: &Roots, cpus: &[CpuId]) -> Option<String> {
    let governor = |&cpu: &CpuId| attr::text(&roots.cpu(cpu, "cpufreq/scaling_governor"));
    let set: BTreeSet<String> = cpus.iter().filter_map(governor).collect();
    (!set.is_empty()).then(|| set.iter().join(", "))
}

/// Name and exit latency, in microseconds, of a CPU's idle states, the shallowest first.
pub(crate) fn idle_states(roots: &Roots, cpu: CpuId) -> Vec<(String, u64)> {
    let dirs = attr::entries(&roots.cpu(cpu, "cpuidle"));
    let state = |d: &PathBuf| {
        let latency = attr::value(&d.join("latency"))?;
        Some((attr::text(&d.join("name"))?, latency))
    };
    dirs.iter().filter_map(state).collect()
}

/// The kernel's clock source (`which` = `current`) or all that it has (`available`).
pub(crate) fn clocksource(roots: &Roots, which: &str) -> Option<String> {
    let dir = "devices/system/clocksource/clocksource0";
    attr::text(&roots.sys(&format!("{dir}/{which}_clocksource")))
}

fn arch(roots: &Roots) -> String {
    // The file exists since Linux 6.1; older kernels have only `uname`.
    let by_uname = || uname().machine().to_string_lossy().into_owned();
    attr::text(&roots.proc("sys/kernel/arch")).unwrap_or_else(by_uname)
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn threads_per_core(roots: &Roots, cpus: &[CpuId]) -> Option<u32> {
    let siblings = |&cpu: &CpuId| attr::cpus(&roots.cpu(cpu, "topology/thread_siblings_list"));
    let lists = cpus.iter().filter_map(siblings);
    lists.map(|list| list.len() as u32).max()
}

pub(crate) fn memory_field(roots: &Roots, name: &str) -> Option<Bytes> {
    let text = fs::read_to_string(roots.proc("meminfo")).ok()?;
    let kib: u64 = field(&text, name)?.strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes(kib * 1024))
}

/// Memory that this process can still take without swapping. It is the least of the kernel's
/// estimate (`MemAvailable`) and the room below the limits of its cgroup (version 2) and those
/// above. `None` where the kernel gives no estimate.
pub fn free_memory(roots: &Roots) -> Option<Bytes> {
    let available = memory_field(roots, "MemAvailable")?;
    Some(room_below_limits(roots).fold(available, Ord::min))
}

/// Bytes that are left below the memory limit of each cgroup that has one, from this process's own
/// cgroup upwards.
fn room_below_limits(roots: &Roots) -> impl Iterator<Item = Bytes> {
    let groups = fs::read_to_string(roots.proc("self/cgroup")).unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let root = roots.sys("fs/cgroup");
    let own_group = path.map(|path| root.join(path));
    let upwards = std::iter::successors(own_group, |group| Some(group.parent()?.to_owned()));
    let groups = upwards.take_while(move |group| group.starts_with(&root));
    groups.filter_map(|group| {
        let limit: u64 = attr::value(&group.join("memory.max"))?;
        let used = attr::value(&group.join("memory.current"))?;
        Some(Bytes(limit.saturating_sub(used)))
    })
}

fn hypervisor(roots: &Roots, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = attr::text(&roots.sys("hypervisor/type")) {
        return Some(kind);
    }
    let clocks = clocksource(roots, "available").unwrap_or_default();
    let by_clock = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];
    let named = by_clock.iter().find(|(clock, _)| clocks.contains(clock));
    let flagged = flags(cpuinfo).any(|f| f == "hypervisor");
    let unnamed = flagged.then_some("unnamed");
    named.map(|(_, name)| *name).or(unnamed).map(str::to_owned)
}

fn flags(cpuinfo: &str) -> impl Iterator<Item = &str> {
    let line = cpuinfo.lines().find(|l| l.starts_with("flags"));
    line.unwrap_or_default().split_whitespace()
}

/// True if the TSC has a constant rate and also runs in idle states. `None` where cpuinfo has no
/// x86 flags.
fn tsc_invariant(cpuinfo: &str) -> Option<bool> {
    let has = |name| flags(cpuinfo).any(|f| f == name);
    has("tsc").then(|| has("constant_tsc") && has("nonstop_tsc"))
}

/// The preemption model: the model in force from debugfs, which only root can read. Without debugfs
/// it is the model that the kernel was built with, from its version string.
fn preempt(roots: &Roots) -> Option<String> {
    if let Some(text) = attr::text(&roots.sys("kernel/debug/sched/preempt")) {
        return Some(attr::selected_choice(&text).to_owned());
    }
    let version = attr::text(&roots.proc("sys/kernel/version"))?;
    let mut parts = version.split_whitespace();
    let model = parts.find(|part| part.starts_with("PREEMPT"));
    Some(model.unwrap_or("none or voluntary").to_owned())
}

fn other_facts(roots: &Roots) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for path in attr::entries(&roots.sys("devices/system/cpu/vulnerabilities")) {
        if let Some(text) = attr::text(&path) {
            facts.insert(format!("vulnerability {}", attr::name(&path)), text);
        }
    }
    let line = attr::text(&roots.proc("cmdline")).unwrap_or_default();
    for item in line.split_whitespace() {
        let (key, value) = item.split_once('=').unwrap_or((item, ""));
        let wanted = |w: &str| key == w || (w.ends_with('.') && key.starts_with(w));
        if COMMAND_LINE_ITEMS.split(' ').any(wanted) {
            facts.insert(format!("command line {key}"), value.to_owned());
        }
    }
    facts
}

//! Checks of where the device's interrupts go, of its NUMA node, and of NUMA balancing.

use super::facts::DoctorFacts;
use super::finding::{Finding, Remedy, RemedySetting};
use crate::block::{Interrupts, IrqLine};
use crate::topology::device_node;
use crate::{attr, cpu_list};
use itertools::Itertools;
use q2c_model::CpuId;
use q2c_result::doctor::LeftReason;

pub(super) fn placement(facts: &DoctorFacts) -> Option<Finding> {
    let name = &facts.target_disk.as_ref()?.disk.name;
    let Some(lines) = device_lines(facts) else {
        let means = "whether polled I/O was interrupted cannot be proved by counting";
        let finding = format!("no interrupt line of {name} was found");
        return Some(Finding::unknown(finding, means));
    };
    let (cpus, verb) = interrupt_cpus(facts, &lines);
    let cpus_text = match cpus.len() {
        0 => "no CPU".to_owned(),
        1 => format!("CPU {}", cpu_list::show(&cpus)),
        _ => format!("CPUs {}", cpu_list::show(&cpus)),
    };
    let irqs = lines.iter().map(|line| line.irq).join(", ");
    let s = if lines.len() == 1 { "" } else { "s" };
    let reached_iops = reached_iops(facts);
    let finding = format!("interrupt line{s} {irqs} of {name} {verb} {cpus_text}{reached_iops}");
    Some(match cpus[..] {
        [cpu] if facts.online().len() > 1 => {
            let means = format!(
                "all interrupts go to {cpu}: a job there runs at another speed than elsewhere; calibrate, record and \
                 verify on one CPU, and put further jobs on the others"
            );
            Finding::warn(finding, &means).mend(spread_remedy(facts, &lines))
        }
        _ => Finding::pass(finding, "the CPU that pays for a completion is on record"),
    })
}

pub(super) fn device_lines(facts: &DoctorFacts) -> Option<Vec<IrqLine>> {
    let interrupts = Interrupts::read(facts.roots, facts.target_disk.as_ref()?).ok()?;
    Some(interrupts.lines).filter(|lines| !lines.is_empty())
}

/// IOPS of interrupt-driven jobs on each CPU that was tried, in words; empty without trials.
fn reached_iops(facts: &DoctorFacts) -> String {
    let trials = facts.target.iter().flat_map(|target| &target.cpu_trials);
    let figures: Vec<String> = trials
        .map(|trial| format!("{:.0} IOPS on {}", trial.interrupt_iops, trial.cpu))
        .collect();
    let listed = match &figures[..] {
        [] => return String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    };
    format!("; a job at depth 1 that waits for them reaches {listed} at best")
}

/// The CPUs of the lines in use, and the verb for the sentence. They are those to which the kernel
/// routes the lines, or, if it shows no routes, those that took interrupts so far.
fn interrupt_cpus(facts: &DoctorFacts, lines: &[IrqLine]) -> (Vec<CpuId>, &'static str) {
    let route = |line: &IrqLine| {
        let list = facts.proc(&format!("irq/{}/effective_affinity_list", line.irq))?;
        cpu_list::parse(&list)
    };
    let in_use = lines.iter().filter(|line| is_used(line));
    let routes: Option<Vec<Vec<CpuId>>> = in_use.map(route).collect();
    let (mut cpus, verb) = match routes {
        Some(routes) if lines.len() == 1 => (routes.concat(), "goes to"),
        Some(routes) => (routes.concat(), "go to"),
        None => {
            let lines = lines.to_vec();
            (Interrupts { lines }.busiest(), "went so far to")
        }
    };
    cpus.sort();
    cpus.dedup();
    (cpus, verb)
}

/// The remedy that gives each line in use a CPU of its own, as far as there are CPUs.
fn spread_remedy(facts: &DoctorFacts, lines: &[IrqLine]) -> Remedy {
    let in_use: Vec<&IrqLine> = lines.iter().filter(|line| is_used(line)).collect();
    if in_use.len() < 2 {
        return Remedy::Nothing(LeftReason::OneLine);
    }
    let is_fixed = |line: &&IrqLine| is_managed(facts, line) == Some(true);
    if in_use.iter().all(is_fixed) {
        return Remedy::Nothing(LeftReason::Managed);
    }
    let setting = |(line, cpu): (&&IrqLine, &CpuId)| {
        let cpu = cpu.0.to_string();
        let path = format!("irq/{}/smp_affinity_list", line.irq);
        let text = facts.write_line(&cpu, &format!("/proc/{path}"));
        (RemedySetting::new(facts.roots.proc(&path), &cpu), text)
    };
    let pairs = in_use.iter().zip(facts.online().iter().cycle());
    let (settings, texts): (Vec<_>, Vec<_>) = pairs.map(setting).unzip();
    Remedy::Set(settings, texts.join("; "))
}

fn is_used(line: &IrqLine) -> bool {
    line.counts.values().any(|&n| n > 0)
}

/// True if the kernel itself chooses the line's CPUs; `None` where debugfs does not show it.
fn is_managed(facts: &DoctorFacts, line: &IrqLine) -> Option<bool> {
    let path = format!("kernel/debug/irq/irqs/{}", line.irq);
    Some(facts.sys(&path)?.contains("IRQD_AFFINITY_MANAGED"))
}

pub(super) fn balancer(facts: &DoctorFacts) -> Option<Finding> {
    let mut processes = std::fs::read_dir(&facts.roots.proc).ok()?.flatten();
    let running = processes
        .any(|entry| attr::text(&entry.path().join("comm")).is_some_and(|c| c == "irqbalance"));
    let verb = if running { "runs" } else { "does not run" };
    let finding = Finding::pass_or_warn(
        !running,
        format!("irqbalance {verb}"),
        "interrupts stay where they are",
        "it moves interrupts between CPUs during a run (lines managed by the kernel, as NVMe's, stay)",
    );
    Some(finding.mend(facts.command("systemctl stop irqbalance")))
}

pub(super) fn completion(facts: &DoctorFacts) -> Option<Finding> {
    let (_, value) = facts.queue("rq_affinity")?;
    let finding = format!("rq_affinity={value}");
    let place = match value.as_str() {
        "0" => "on the CPU that takes the interrupt",
        "1" => "on a CPU that shares a cache with the submitter's",
        "2" => "on the submitter's own CPU",
        _ => {
            let means = "where completions run is not known";
            return Some(Finding::unknown(finding, means));
        }
    };
    Some(Finding::pass(finding, &format!("completions run {place}")))
}

pub(super) fn managed(facts: &DoctorFacts) -> Option<Finding> {
    let lines = used_lines(facts)?.into_iter();
    let managed: Option<Vec<bool>> = lines.map(|line| is_managed(facts, &line)).collect();
    Some(match managed {
        None => Finding::unknown(
            "shown by debugfs only, where the kernel has it (GENERIC_IRQ_DEBUGFS)",
            "whether interrupts can be moved is not known; those of NVMe queues usually cannot",
        )
        .mend(facts.show_debugfs()),
        Some(managed) if managed.iter().all(|&m| m) => Finding::pass(
            "every line in use is managed by the kernel",
            "each queue's interrupts stay on its own CPUs",
        ),
        Some(_) => Finding::pass(
            "not every line in use is managed by the kernel",
            "its CPUs are those of smp_affinity: they can be chosen, and a balancer can move them",
        ),
    })
}

pub(super) fn shared(facts: &DoctorFacts) -> Option<Finding> {
    let lines = used_lines(facts)?;
    let shared = lines.iter().filter(|l| l.name.contains(", "));
    let shared = shared.map(|l| format!("{} ({})", l.irq, l.name)).join("; ");
    Some(if shared.is_empty() {
        let finding = "no line is shared with another device";
        Finding::pass(finding, "counted interrupts are the device's")
    } else {
        Finding::invalidates(
            &["effective-mode"],
            format!("lines shared with other devices: {}", shared),
            "other devices' interrupts count as this one's: that polling was not interrupted cannot be proved",
        )
    })
}

/// The lines that took interrupts; `None` where there are none.
fn used_lines(facts: &DoctorFacts) -> Option<Vec<IrqLine>> {
    let mut lines = device_lines(facts)?;
    lines.retain(is_used);
    (!lines.is_empty()).then_some(lines)
}

pub(super) fn node(facts: &DoctorFacts) -> Option<Finding> {
    let target_disk = facts.target_disk.as_ref()?;
    let name = &target_disk.disk.name;
    match facts.topology.nodes.len() {
        0 => {
            let means = "whether memory is remote cannot be told";
            return Some(Finding::unknown("the kernel tells no nodes", means));
        }
        1 => {
            let means = "every CPU is as near to the device and to memory";
            return Some(Finding::pass("one NUMA node", means));
        }
        _ => {}
    }
    let Some(node) = device_node(facts.roots, target_disk) else {
        let finding = format!("the node of {name} is not told");
        let means =
            "jobs cannot be placed near to it: take CPUs of one node and compare with the other";
        return Some(Finding::unknown(finding, means));
    };
    let topology = &facts.topology;
    let is_local = |cpu: &CpuId| topology.cpu(*cpu).is_some_and(|c| c.node == Some(node));
    let mut remote = facts.jobs.clone();
    remote.retain(|job| !is_local(job));
    let local: Vec<CpuId> = facts.online().iter().copied().filter(is_local).collect();
    let device_location = format!("{name} is on node {node} (CPUs {})", cpu_list::show(&local));
    Some(if remote.is_empty() {
        let means = "jobs there reach it without crossing sockets; further ones do";
        Finding::pass(device_location, means)
    } else {
        let remote = cpu_list::show(&remote);
        Finding::warn(
            format!("{device_location}; jobs on CPUs {remote}"),
            "those jobs reach device and buffers over the link between nodes: higher latency, less bandwidth",
        )
    })
}

pub(super) fn balancing(facts: &DoctorFacts) -> Option<Finding> {
    const SWITCH: &str = "sys/kernel/numa_balancing";
    if facts.topology.nodes.len() < 2 {
        return None;
    }
    let value = facts.proc(SWITCH)?;
    let finding = Finding::pass_or_warn(
        value == "0",
        format!("numa_balancing={value}"),
        "memory stays where it was allocated",
        "the kernel unmaps pages to learn who uses them: page faults in the middle of a run",
    );
    Some(finding.mend(facts.set_proc("0", SWITCH)))
}

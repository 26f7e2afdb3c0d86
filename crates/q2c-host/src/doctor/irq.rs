use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::{Remedy, RemedySetting};
use crate::block::{Interrupts, IrqLine};
use crate::{attr, cpu_list};
use q2c_model::CpuId;
use q2c_result::CpuTrial;
use q2c_result::doctor::WhyLeft;

pub(super) fn placement(facts: &DoctorFacts) -> Option<Finding> {
    let target_disk = facts.target_disk.as_ref()?;
    let name = &target_disk.disk.name;
    let Some(lines) = lines_of(facts) else {
        return Some(Finding::unknown(
            format!("no interrupt line of {name} was found"),
            "whether polled I/O was interrupted cannot be proved by counting",
        ));
    };
    let (cpus, how) = routed(facts, &lines);
    let which = match cpus.len() {
        0 => "no CPU".to_owned(),
        1 => format!("CPU {}", cpu_list::show(&cpus)),
        _ => format!("CPUs {}", cpu_list::show(&cpus)),
    };
    let (lines_of_it, reached) = (shown(&lines), reached(facts));
    let routing = format!("{lines_of_it} of {name} {how} {which}{reached}");
    Some(one_or_many(facts, &cpus, routing, &lines))
}

fn lines_of(facts: &DoctorFacts) -> Option<Interrupts> {
    let read = Interrupts::read(facts.roots, facts.target_disk.as_ref()?).ok();
    read.filter(|interrupts| !interrupts.lines.is_empty())
}

pub(super) fn are_counted(facts: &DoctorFacts) -> bool {
    lines_of(facts).is_some()
}

fn shown(lines: &Interrupts) -> String {
    let irqs: Vec<String> = lines.lines.iter().map(|l| l.irq.to_string()).collect();
    match irqs.as_slice() {
        [one] => format!("interrupt line {one}"),
        _ => format!("interrupt lines {}", irqs.join(", ")),
    }
}

/// What interrupt-driven jobs reach on the CPUs that were tried; empty without trials.
fn reached(facts: &DoctorFacts) -> String {
    let trials = facts.target.map_or(&[][..], |target| &target.cpu_trials);
    let one = |trial: &CpuTrial| format!("{:.0} IOPS on {}", trial.interrupt_iops, trial.cpu);
    let figures: Vec<String> = trials.iter().map(one).collect();
    let Some((last, before)) = figures.split_last() else {
        return String::new();
    };
    let listed = if before.is_empty() {
        last.clone()
    } else {
        format!("{} and {last}", before.join(", "))
    };
    format!("; a job at depth 1 that waits for them reaches {listed} at best")
}

/// The CPUs of the lines in use: those to which the kernel routes them now, or, if it does not
/// tell, those that took their interrupts so far; and the verb for the sentence.
fn routed(facts: &DoctorFacts, lines: &Interrupts) -> (Vec<CpuId>, &'static str) {
    let used = lines.lines.iter().filter(|line| is_used(line));
    let route = |line: &IrqLine| {
        let list = facts.proc(&format!("irq/{}/effective_affinity_list", line.irq))?;
        cpu_list::parse(&list)
    };
    let routes: Option<Vec<Vec<CpuId>>> = used.map(route).collect();
    let (mut cpus, how) = match routes {
        Some(routes) if lines.lines.len() == 1 => (routes.concat(), "goes to"),
        Some(routes) => (routes.concat(), "go to"),
        None => (lines.busiest(), "went so far to"),
    };
    cpus.sort();
    cpus.dedup();
    (cpus, how)
}

fn one_or_many(facts: &DoctorFacts, cpus: &[CpuId], found: String, lines: &Interrupts) -> Finding {
    match cpus {
        [one] if facts.online().len() > 1 => Finding::warn(
            found,
            &format!(
                "all interrupts go to {one}: a job there runs at another speed than elsewhere; calibrate, record and \
                 verify on one CPU, and put further jobs on the others"
            ),
        )
        .mend(spread(facts, lines)),
        _ => Finding::pass(found, "the CPU that pays for a completion is on record"),
    }
}

/// Gives each line in use a CPU of its own, as far as there are CPUs.
fn spread(facts: &DoctorFacts, lines: &Interrupts) -> Remedy {
    let used: Vec<&IrqLine> = lines.lines.iter().filter(|line| is_used(line)).collect();
    if used.len() < 2 {
        return Remedy::Nothing(WhyLeft::OneLine);
    }
    let managed = |line: &&IrqLine| is_managed(facts, line) == Some(true);
    if used.iter().all(managed) {
        return Remedy::Nothing(WhyLeft::Managed);
    }
    let pairs = used.iter().zip(facts.online().iter().cycle());
    let (settings, texts): (Vec<RemedySetting>, Vec<String>) = pairs
        .map(|(line, cpu)| {
            let path = format!("irq/{}/smp_affinity_list", line.irq);
            let text = facts.write_line(&cpu.0.to_string(), &format!("/proc/{path}"));
            let file = facts.roots.proc(&path);
            (RemedySetting::new(file, &cpu.0.to_string()), text)
        })
        .unzip();
    Remedy::Set(settings, texts.join("; "))
}

fn is_used(line: &IrqLine) -> bool {
    line.counts.values().any(|&n| n > 0)
}

/// Whether the kernel itself chooses the line's CPUs; `None` where it does not tell.
fn is_managed(facts: &DoctorFacts, line: &IrqLine) -> Option<bool> {
    let path = format!("kernel/debug/irq/irqs/{}", line.irq);
    Some(facts.sys(&path)?.contains("IRQD_AFFINITY_MANAGED"))
}

pub(super) fn balancer(facts: &DoctorFacts) -> Option<Finding> {
    let processes = std::fs::read_dir(&facts.roots.proc).ok()?;
    let is_it =
        |dir: std::path::PathBuf| attr::text(&dir.join("comm")).is_some_and(|c| c == "irqbalance");
    let running = processes.filter_map(|e| Some(e.ok()?.path())).any(is_it);
    Some(if running {
        Finding::warn(
            "irqbalance runs",
            "it moves interrupts between CPUs during a run (lines managed by the kernel, as NVMe's, stay)",
        )
        .mend(facts.program("systemctl stop irqbalance"))
    } else {
        Finding::pass("irqbalance does not run", "interrupts stay where they are")
    })
}

pub(super) fn completion(facts: &DoctorFacts) -> Option<Finding> {
    let (_, value) = facts.queue("rq_affinity")?;
    let place = match value.as_str() {
        "0" => "on the CPU that takes the interrupt",
        "1" => "on a CPU that shares a cache with the submitter's",
        "2" => "on the submitter's own CPU",
        _ => {
            return Some(Finding::unknown(
                format!("rq_affinity={value}"),
                "where completions run is not known",
            ));
        }
    };
    Some(Finding::pass(
        format!("rq_affinity={value}"),
        &format!("completions run {place}"),
    ))
}

pub(super) fn managed(facts: &DoctorFacts) -> Option<Finding> {
    let lines = used_lines(facts)?;
    let managed_lines: Option<Vec<bool>> =
        lines.iter().map(|line| is_managed(facts, line)).collect();
    Some(match managed_lines {
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
    let shared: Vec<String> = shared.map(|l| format!("{} ({})", l.irq, l.name)).collect();
    Some(if shared.is_empty() {
        Finding::pass(
            "no line is shared with another device",
            "counted interrupts are the device's",
        )
    } else {
        Finding::invalidates(
            &["effective-mode"],
            format!("lines shared with other devices: {}", shared.join("; ")),
            "other devices' interrupts count as this one's: that polling was not interrupted cannot be proved",
        )
    })
}

/// line.
fn used_lines(facts: &DoctorFacts) -> Option<Vec<IrqLine>> {
    let used: Vec<IrqLine> = lines_of(facts)?.lines.into_iter().filter(is_used).collect();
    (!used.is_empty()).then_some(used)
}

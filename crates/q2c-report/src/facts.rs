//! Machine, target and calibration as names and values. A value that could not be read is shown as
//! unknown.

use crate::cpu_trials;
use crate::document::check_verdict;
use crate::invalid;
use crate::label::ranges;
use crate::quantity::{duration, seconds, size};
use crate::service::service_times;
use crate::sim_machine;
use q2c_model::CpuId;
use q2c_result::tune::Calibration;
use q2c_result::{Check, Device, DoctorReport, Machine, Target, Verdict};

/// A line of a table of facts.
pub(crate) struct Fact {
    pub name: String,
    pub value: String,
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.into(),
    }
}

/// A fact whose value may be missing; it is shown as `unknown` then.
fn maybe(name: &str, value: Option<impl ToString>) -> Fact {
    fact(
        name,
        value.map_or_else(|| "unknown".to_owned(), |v| v.to_string()),
    )
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The facts of the machine.
pub(crate) fn machine(m: &Machine) -> Vec<Fact> {
    if let Some(facts) = sim_machine::facts(m) {
        let facts = facts.into_iter();
        return facts.map(|(name, value)| fact(name, value)).collect();
    }
    let states = m
        .idle_states
        .iter()
        .map(|(name, us)| format!("{name} {us} us"));
    let mut facts = vec![
        fact("Kernel", &m.kernel),
        fact("Architecture", &m.arch),
        maybe("Processor", m.cpu_model.as_ref()),
        fact(
            "CPUs online",
            format!("{} ({})", m.cpus_online.len(), ranges(&m.cpus_online)),
        ),
        maybe("Threads per core", m.threads_per_core),
        maybe("NUMA nodes", m.numa_nodes),
        maybe("Memory", m.memory.map(size)),
        fact("Hypervisor", m.hypervisor.as_deref().unwrap_or("none seen")),
        maybe("Frequency governor", m.governor.as_ref()),
        maybe("Idle driver", m.idle_driver.as_ref()),
        maybe("Idle governor", m.idle_governor.as_ref()),
        fact("Idle states, exit latency", listed(states)),
        maybe("Clock source", m.clocksource.as_ref()),
        maybe("TSC invariant", m.tsc_invariant.map(yes)),
        maybe("Preemption", m.preempt.as_ref()),
    ];
    facts.extend(m.other.iter().map(|(name, value)| fact(name, value)));
    facts
}

/// The facts of the target and of the device under it.
pub(crate) fn target(t: &Target) -> Vec<Fact> {
    let mut facts = vec![fact("Path", &t.path), fact("Kind", t.kind.text())];
    // A controller that no kernel driver has tells no size.
    facts.extend((t.size.0 > 0).then(|| fact("Size", size(t.size))));
    facts.extend(t.file_system.iter().map(|name| fact("File system", name)));
    match &t.device {
        Some(d) => facts.extend(device(d)),
        None => facts.push(fact("Device", "not found")),
    }
    facts.extend(t.unproved.iter().map(|what| fact("Not proved", what)));
    let tried = cpu_trials::words(t);
    facts.extend(tried.map(|words| fact("Tried from", words)));
    let times = t.service_times.iter();
    facts.extend(times.map(|times| fact("Service times", service_times(times))));
    facts
}

fn device(d: &Device) -> Vec<Fact> {
    vec![
        fact("Device", format!("{} ({})", d.name, d.dev)),
        maybe("Model", d.model.as_ref()),
        maybe("Firmware", d.firmware.as_ref()),
        maybe("Device size", d.size.map(size)),
        maybe("Logical block", d.logical_block),
        maybe("Scheduler", d.scheduler.as_ref()),
        maybe("Requests per queue", d.nr_requests),
        maybe("Hardware queues", d.hw_queues),
        maybe("Can be polled (io_poll)", d.io_poll.map(yes)),
        maybe("nomerges", d.nomerges),
        maybe("Write cache", d.write_cache.as_ref()),
        fact(
            "CPUs that took its interrupts",
            listed(d.irq_cpus.iter().map(CpuId::to_string)),
        ),
    ]
}

/// The facts of one block size's calibration.
pub(crate) fn calibration(c: &Calibration) -> Vec<Fact> {
    let ns = |value: f64| duration(value);
    let cost = &c.cost;
    let origin = match c.reused {
        true => "reused".to_owned(),
        false => format!("measured in {}", seconds(c.seconds)),
    };
    vec![
        fact("Origin", origin),
        fact("CPU", c.cpu.to_string()),
        fact(
            "CPU of the interrupts",
            c.irq_cpu
                .map_or_else(|| "not seen".to_owned(), |cpu| cpu.to_string()),
        ),
        fact("Submission", ns(cost.submit_ns)),
        fact("Turnaround of the loop", ns(cost.turnaround_ns)),
        fact("Reaping after a hit sleep", ns(cost.reap_hit_ns)),
        fact("CPU of an interrupt-driven I/O", ns(cost.interrupt_cpu_ns)),
        fact("Latency an interrupt adds", ns(cost.interrupt_latency_ns)),
        fact("Other CPU per I/O: polling", ns(cost.other_cpu_poll_ns)),
        fact("Other CPU per I/O: sleeping", ns(cost.other_cpu_sleep_ns)),
        fact(
            "Other CPU per I/O: interrupt",
            ns(cost.other_cpu_interrupt_ns),
        ),
    ]
}

fn listed(items: impl Iterator<Item = String>) -> String {
    match items.collect::<Vec<_>>().join(", ") {
        empty if empty.is_empty() => "none seen".to_owned(),
        list => list,
    }
}

/// The doctor's checks: those that invalidate something first, those that pass last.
pub(crate) fn checks(report: &DoctorReport) -> Vec<Fact> {
    let mut checks: Vec<&Check> = report.checks.iter().collect();
    checks.sort_by_key(|check| match check.verdict {
        Verdict::Invalidates => 0,
        Verdict::Warn => 1,
        Verdict::Unknown => 2,
        Verdict::Pass => 3,
    });
    let fact_of = |check: &Check| {
        let invalid = check.verdict == Verdict::Invalidates && !check.columns.is_empty();
        let (word, _) = check_verdict(check);
        let mut value = format!("{word}: {}; {}", check.found, check.means);
        if invalid {
            value += &format!(". Invalidates {}", invalid::columns(check));
        }
        if let Some(fix) = &check.fix {
            value += &format!(". To do: {fix}");
        }
        fact(&check.id, value)
    };
    checks.into_iter().map(fact_of).collect()
}

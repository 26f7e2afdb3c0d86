//! Machine, target and calibration as pairs of name and value. A value that could not be read is
//! shown as `unknown`.

use crate::document::check_verdict;
use crate::label::ranges;
use crate::phrase::{some_listed, yes_or_no};
use crate::quantity::{duration, seconds, size};
use crate::said::Note;
use crate::sim_machine::{self, service_times};
use crate::{cpu_trials, invalid};
use q2c_result::tune::Calibration;
use q2c_result::{Check, CheckVerdict, Device, DoctorReport, Machine, Target};

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Note {
    Note::plain(name, value)
}

/// A fact whose value may be missing; a missing one is shown as `unknown`.
fn maybe(name: &str, value: Option<impl ToString>) -> Note {
    fact(name, value.map_or("unknown".to_owned(), |v| v.to_string()))
}

pub(crate) fn machine(m: &Machine) -> Vec<Note> {
    if let Some(facts) = sim_machine::facts(m) {
        return facts;
    }
    let states = m.idle_states.iter().map(|(s, us)| format!("{s} {us} us"));
    let online = format!("{} ({})", m.cpus_online.len(), ranges(&m.cpus_online));
    let mut facts = vec![
        fact("Kernel", &m.kernel),
        fact("Architecture", &m.arch),
        maybe("Processor", m.cpu_model.as_ref()),
        fact("CPUs online", online),
        maybe("Threads per core", m.threads_per_core),
        maybe("NUMA nodes", m.numa_nodes),
        maybe("Memory", m.memory.map(size)),
        fact("Hypervisor", m.hypervisor.as_deref().unwrap_or(NONE_SEEN)),
        maybe("Frequency governor", m.governor.as_ref()),
        maybe("Idle driver", m.idle_driver.as_ref()),
        maybe("Idle governor", m.idle_governor.as_ref()),
        fact("Idle states, exit latency", seen(states)),
        maybe("Clock source", m.clocksource.as_ref()),
        maybe("TSC invariant", m.tsc_invariant.map(yes_or_no)),
        maybe("Preemption", m.preempt.as_ref()),
    ];
    facts.extend(m.other.iter().map(|(name, value)| fact(name, value)));
    facts
}

pub(crate) fn target(t: &Target) -> Vec<Note> {
    let mut facts = vec![fact("Path", &t.path), fact("Kind", t.kind.text())];
    // A controller that no kernel driver is bound to reports no size.
    facts.extend((t.size.0 > 0).then(|| fact("Size", size(t.size))));
    facts.extend(t.file_system.iter().map(|name| fact("File system", name)));
    match &t.device {
        Some(d) => facts.extend(device(d)),
        None => facts.push(fact("Device", "not found")),
    }
    facts.extend(t.unproved.iter().map(|what| fact("Not proved", what)));
    facts.extend(cpu_trials::words(t).map(|words| fact("Tried from", words)));
    let times = t.service_times.iter();
    facts.extend(times.map(|times| fact("Service times", service_times(times))));
    facts
}

fn device(d: &Device) -> Vec<Note> {
    vec![
        fact("Device", format!("{} ({})", d.name, d.dev)),
        maybe("Model", d.model.as_ref()),
        maybe("Firmware", d.firmware.as_ref()),
        maybe("Device size", d.size.map(size)),
        maybe("Logical block", d.logical_block),
        maybe("Scheduler", d.scheduler.as_ref()),
        maybe("Requests per queue", d.nr_requests),
        maybe("Hardware queues", d.hw_queues),
        maybe("Can be polled (io_poll)", d.io_poll.map(yes_or_no)),
        maybe("nomerges", d.nomerges),
        maybe("Write cache", d.write_cache.as_ref()),
        fact("CPUs that took its interrupts", seen(&d.irq_cpus)),
    ]
}

pub(crate) fn calibration(c: &Calibration) -> Vec<Note> {
    let cost = &c.cost;
    let times = [
        ("Submission", cost.submit_ns),
        ("Turnaround of the loop", cost.turnaround_ns),
        ("Reaping after a hit sleep", cost.reap_hit_ns),
        ("CPU of an interrupt-driven I/O", cost.interrupt_cpu_ns),
        ("Latency an interrupt adds", cost.interrupt_latency_ns),
        ("Other CPU per I/O: polling", cost.other_cpu_poll_ns),
        ("Other CPU per I/O: sleeping", cost.other_cpu_sleep_ns),
        ("Other CPU per I/O: interrupt", cost.other_cpu_interrupt_ns),
    ];
    let measured = format!("measured in {}", seconds(c.seconds));
    let origin = if c.reused { "reused" } else { &measured };
    let interrupts = c.irq_cpu.map_or("not seen".to_owned(), |n| n.to_string());
    let mut facts = vec![
        fact("Origin", origin),
        fact("CPU", c.cpu.to_string()),
        fact("CPU of the interrupts", interrupts),
    ];
    facts.extend(times.map(|(name, ns)| fact(name, duration(ns))));
    facts
}

const NONE_SEEN: &str = "none seen";

fn seen<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    some_listed(items).unwrap_or_else(|| NONE_SEEN.to_owned())
}

/// The doctor's checks as facts: invalidating checks come first, passed ones last.
pub(crate) fn checks(report: &DoctorReport) -> Vec<Note> {
    let mut checks: Vec<&Check> = report.checks.iter().collect();
    checks.sort_by_key(|check| match check.verdict {
        CheckVerdict::Invalidates => 0,
        CheckVerdict::Warn => 1,
        CheckVerdict::Unknown => 2,
        CheckVerdict::Pass => 3,
    });
    let fact_of = |check: &Check| {
        let (word, _) = check_verdict(check);
        let mut value = format!("{word}: {}; {}", check.found, check.means);
        if check.verdict == CheckVerdict::Invalidates && !check.columns.is_empty() {
            value += &format!(". Invalidates {}", invalid::columns(check));
        }
        if let Some(fix) = &check.fix {
            value += &format!(". To do: {fix}");
        }
        fact(&check.id, value)
    };
    checks.into_iter().map(fact_of).collect()
}

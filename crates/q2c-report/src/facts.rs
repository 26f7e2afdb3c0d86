//! Machine, target and calibration as pairs of name and value, where a value that could not be read
//! is shown as `unknown`; simulated machines and service times of simulated devices in words.

use crate::document::check_verdict;
use crate::label::{self, cpu_ranges};
use crate::note::Note;
use crate::phrase::{counted, joined, listed, listed_if_any, when, yes_or_no};
use crate::quantity::{duration, number, seconds};
use crate::validity;
use q2c_model::{Bytes, Direction};
use q2c_result::tune::Calibration;
use q2c_result::{Check, CheckVerdict, Device, DoctorReport, Machine, Target};
use q2c_service::{EmpiricalClass, IrqPlacement, RecordedFacts, SimMachine};

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Note {
    Note::plain(name, value)
}

/// A fact whose value may be missing; a missing one is shown as `unknown`.
fn fact_or_unknown(name: &str, value: Option<impl ToString>) -> Note {
    fact(name, value.map_or("unknown".to_owned(), |v| v.to_string()))
}

pub(crate) fn machine(m: &Machine) -> Vec<Note> {
    if let Some(facts) = simulated_facts(m) {
        return facts;
    }
    let states = m.idle_states.iter().map(|(s, us)| format!("{s} {us} us"));
    let online = format!("{} ({})", m.cpus_online.len(), cpu_ranges(&m.cpus_online));
    let mut facts = vec![
        fact("Kernel", &m.kernel),
        fact("Architecture", &m.arch),
        fact_or_unknown("Processor", m.cpu_model.as_ref()),
        fact("CPUs online", online),
        fact_or_unknown("Threads per core", m.threads_per_core),
        fact_or_unknown("NUMA nodes", m.numa_nodes),
        fact_or_unknown("Memory", m.memory.map(Bytes::in_short)),
        fact("Hypervisor", m.hypervisor.as_deref().unwrap_or(NONE_SEEN)),
        fact_or_unknown("Frequency governor", m.governor.as_ref()),
        fact_or_unknown("Idle driver", m.idle_driver.as_ref()),
        fact_or_unknown("Idle governor", m.idle_governor.as_ref()),
        fact("Idle states, exit latency", or_none_seen(states)),
        fact_or_unknown("Clock source", m.clocksource.as_ref()),
        fact_or_unknown("TSC invariant", m.tsc_invariant.map(yes_or_no)),
        fact_or_unknown("Preemption", m.preempt.as_ref()),
    ];
    facts.extend(m.other.iter().map(|(name, value)| fact(name, value)));
    facts
}

pub(crate) fn target(t: &Target) -> Vec<Note> {
    let mut facts = vec![fact("Path", &t.path), fact("Kind", t.kind.text())];
    // A controller that no kernel driver is bound to reports no size.
    facts.extend((t.size.0 > 0).then(|| fact("Size", t.size.in_short())));
    facts.extend(t.file_system.iter().map(|name| fact("File system", name)));
    match &t.device {
        Some(d) => facts.extend(device(d)),
        None => facts.push(fact("Device", "not found")),
    }
    facts.extend(t.unproved.iter().map(|what| fact("Not proved", what)));
    facts.extend(label::cpu_trials(t).map(|trials| fact("Tried from", trials)));
    let times = t.service_times.iter();
    facts.extend(times.map(|times| fact("Service times", service_times(times))));
    facts
}

fn device(d: &Device) -> Vec<Note> {
    vec![
        fact("Device", format!("{} ({})", d.name, d.dev)),
        fact_or_unknown("Model", d.model.as_ref()),
        fact_or_unknown("Firmware", d.firmware.as_ref()),
        fact_or_unknown("Device size", d.size.map(Bytes::in_short)),
        fact_or_unknown("Logical block", d.logical_block),
        fact_or_unknown("Scheduler", d.scheduler.as_ref()),
        fact_or_unknown("Requests per queue", d.nr_requests),
        fact_or_unknown("Hardware queues", d.hw_queues),
        fact_or_unknown("Can be polled (io_poll)", d.io_poll.map(yes_or_no)),
        fact_or_unknown("nomerges", d.nomerges),
        fact_or_unknown("Write cache", d.write_cache.as_ref()),
        fact("CPUs that took its interrupts", or_none_seen(&d.irq_cpus)),
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

fn or_none_seen<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    listed_if_any(items).unwrap_or_else(|| NONE_SEEN.to_owned())
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
            value += &format!(". Invalidates {}", validity::invalid_columns(check));
        }
        if let Some(fix) = &check.fix {
            value += &format!(". To do: {fix}");
        }
        fact(&check.id, value)
    };
    checks.into_iter().map(fact_of).collect()
}

/// The first line of the report of a simulated run: `8 CPUs of q2c's own machine, in simulated
/// time`. `None` for a real machine.
pub(crate) fn headline(machine: &Machine) -> Option<String> {
    let SimMachine { name, .. } = machine.simulated.as_ref()?;
    let cpus = counted(machine.simulated.as_ref()?.cpus(), "CPU");
    Some(format!("{cpus} of {name}, in simulated time"))
}

/// The title of a page: the target, and whether it was simulated.
pub(crate) fn title(target: &Target, machine: &Machine) -> String {
    label::target(target) + when(machine.simulated.is_some(), ", simulated")
}

/// The machine in a line below a title: kernel and processor, or what was simulated.
pub(crate) fn about(machine: &Machine) -> Vec<String> {
    if let Some(words) = headline(machine) {
        return vec![format!("simulated: {words}")];
    }
    let kernel = Some(&machine.kernel).filter(|kernel| !kernel.is_empty());
    let kernel = kernel.map(|kernel| format!("Linux {kernel}"));
    Vec::from_iter(kernel.into_iter().chain(machine.cpu_model.clone()))
}

/// Times with their names.
fn listed_times(times: &[(&str, u64)]) -> String {
    let times = times.iter();
    listed(times.map(|(what, ns)| format!("{what} {}", duration(*ns as f64))))
}

/// The costs of misses, interrupts and interfaces that differ from the machine's own.
fn other_costs(sim: &SimMachine) -> Vec<Note> {
    let costs = [
        ("delay of a miss", sim.miss_delay_ns),
        ("switch of a miss", sim.miss_switch_ns),
        ("switch of an interrupt", sim.interrupt_switch_ns),
    ];
    let costs = costs.into_iter().filter_map(|(what, ns)| Some((what, ns?)));
    let costs: Vec<_> = costs.collect();
    let differs = !costs.is_empty();
    let differing =
        differs.then(|| Note::plain("Misses and interrupts at speed 1", listed_times(&costs)));
    let interfaces = sim.interfaces.keys();
    let behind = interfaces.filter_map(|interface| Some((interface, sim.behind(*interface)?)));
    let behind = behind.map(|(interface, behind)| {
        let costs = [
            ("submission", behind.submission_ns),
            ("turnaround", behind.turnaround_ns),
            ("look", behind.look_ns),
            ("delay of an interrupt", behind.interrupt_delay_ns),
        ];
        let title = format!("Costs of {interface} at speed 1");
        Note::plain(&title, listed_times(&costs))
    });
    differing.into_iter().chain(behind).collect()
}

/// The facts of a simulated machine; `None` for a real one.
pub(crate) fn simulated_facts(machine: &Machine) -> Option<Vec<Note>> {
    let sim = machine.simulated.as_ref()?;
    let costs = [
        ("submission", sim.submission_ns),
        ("turnaround", sim.turnaround_ns),
        ("look", sim.look_ns),
        ("switch", sim.switch_ns),
        ("timer", sim.timer_ns),
        ("interrupt", sim.interrupt_ns),
    ];
    let interrupt = ("interrupt", sim.interrupt_delay_ns);
    let delays = [("wake-up", sim.wake_delay_ns), interrupt];
    let lock = [
        ("held", sim.lock_ns),
        ("handed over", sim.handover_ns),
        ("from another node", sim.remote_ns),
    ];
    let sources = sim.keys_by_source();
    let sources = sources
        .iter()
        .map(|(source, keys)| format!("{source}: {}", listed(keys)));
    let sources = sources.chain(["stated: all others".to_owned()]);
    let mut facts = vec![
        Note::plain("Simulated", headline(machine)?),
        Note::plain("Speed of its CPUs", number(sim.speed)),
        Note::plain("CPU costs at speed 1", listed_times(&costs)),
        Note::plain("Delays at speed 1", listed_times(&delays)),
        Note::plain("Slice of a thread", duration(sim.slice_ns as f64)),
        Note::plain("Sources of its values", joined(sources, "; ")),
    ];
    facts.extend(other_costs(sim));
    if sim.lock_ns > 0 {
        facts.push(Note::plain("Lock of all submitters", listed_times(&lock)));
    }
    if sim.threads > 1 || sim.nodes > 1 {
        let (threads, nodes) = (counted(sim.threads, "thread"), counted(sim.nodes, "node"));
        let shape = format!("{} of {threads}, {nodes}", counted(sim.cores, "core"));
        facts.push(Note::plain("Its cores", shape));
    }
    if sim.threads > 1 {
        let speeds = [sim.compute_beside_compute, sim.compute_beside_polling].map(number);
        let speeds = format!("{} if it computes, {} if it polls", speeds[0], speeds[1]);
        facts.push(Note::plain("Speed beside a busy sibling", speeds));
    }
    if sim.irq == IrqPlacement::Spread {
        facts.push(Note::plain("Interrupts", "on all CPUs in turn"));
    }
    Some(facts)
}

/// Describes a simulated device's recorded service times: the number of I/Os by direction and size,
/// and which times requests of other kinds get.
///
/// Example: `U2C of 1000 recorded I/Os: 1000 reads from 4 KiB below 8 KiB (median 31.2 us);
/// requests of another direction or size take the times of the nearest`.
#[must_use]
pub fn service_times(times: &RecordedFacts) -> String {
    let recorded: u64 = times.classes.iter().map(|class| class.recorded).sum();
    let left_out = match times.left_out {
        0 => String::new(),
        n => format!(
            "; {n} records are left out: neither reads nor writes, failed, merged, or without this time"
        ),
    };
    format!(
        "{} of {recorded} recorded I/Os: {}; requests of another direction or size take the times of the nearest{left_out}",
        times.measure.name().to_uppercase(),
        listed(times.classes.iter().map(class_text)),
    )
}

fn class_text(class: &EmpiricalClass) -> String {
    let direction = match class.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    };
    let lower_end = class.from.bytes();
    // The last of the eight size classes has no upper end.
    let below = (class.from.0 < 128).then(|| format!(" below {}", Bytes(2 * lower_end.0)));
    let below = below.unwrap_or_default();
    let chosen = format!(", {} of them chosen at random", class.kept);
    let chosen = when(class.recorded != class.kept as u64, &chosen);
    let (recorded, median) = (class.recorded, duration(class.median.0 as f64));
    format!("{recorded} {direction} from {lower_end}{below} (median {median}{chosen})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Nanos, Sectors};
    use q2c_service::Measure;

    fn class(direction: Direction, from: u64, recorded: u64, kept: usize) -> EmpiricalClass {
        EmpiricalClass {
            direction,
            from: Sectors(from),
            recorded,
            kept,
            median: Nanos(31_200),
        }
    }

    #[test]
    fn each_class_is_told_and_what_others_get() {
        let mut times = RecordedFacts {
            measure: Measure::U2c,
            classes: vec![class(Direction::Read, 8, 1_000, 1_000)],
            left_out: 0,
        };
        let expected = "U2C of 1000 recorded I/Os: 1000 reads from 4 KiB below 8 KiB (median 31.2 us); \
                    requests of another direction or size take the times of the nearest";
        assert_eq!(service_times(&times), expected);
        times.classes.push(class(Direction::Write, 128, 9, 4));
        times.left_out = 2;
        let text = service_times(&times);
        let write = "9 writes from 64 KiB (median 31.2 us, 4 of them chosen at random)";
        assert!(
            text.contains("1009 recorded") && text.contains(write),
            "{text}"
        );
        assert!(text.contains("2 records are left out"), "{text}");
    }
}

//! Simulated machines, and the recorded service times of simulated devices, in words.

use crate::label;
use crate::phrase::{counted, listed, when};
use crate::quantity::{duration, number};
use crate::said::Note;
use q2c_model::{Bytes, Direction};
use q2c_result::{Machine, Target};
use q2c_service::{EmpiricalClass, RecordedFacts, SimMachine};

/// The first line of the report of a simulated run: `8 CPUs of q2c's own machine, in simulated
/// time`. `None` for a real machine.
pub(crate) fn headline(machine: &Machine) -> Option<String> {
    let SimMachine { cpus, name, .. } = machine.simulated.as_ref()?;
    let cpus = counted(*cpus, "CPU");
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

/// The facts of a simulated machine; `None` for a real one.
pub(crate) fn facts(machine: &Machine) -> Option<Vec<Note>> {
    let sim = machine.simulated.as_ref()?;
    let listed_times = |times: &[(&str, u64)]| {
        let times = times.iter();
        listed(times.map(|(what, ns)| format!("{what} {}", duration(*ns as f64))))
    };
    let costs = [
        ("submission", sim.submission_ns),
        ("turnaround", sim.turnaround_ns),
        ("look", sim.look_ns),
        ("switch", sim.switch_ns),
        ("timer", sim.timer_ns),
        ("interrupt", sim.interrupt_ns),
    ];
    let delays = [
        ("wake-up", sim.wake_delay_ns),
        ("interrupt", sim.interrupt_delay_ns),
    ];
    Some(vec![
        Note::plain("Simulated", headline(machine)?),
        Note::plain("Speed of its CPUs", number(sim.speed)),
        Note::plain("CPU costs at speed 1", listed_times(&costs)),
        Note::plain("Delays at speed 1", listed_times(&delays)),
        Note::plain("Slice of a thread", duration(sim.slice_ns as f64)),
    ])
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
        listed(times.classes.iter().map(class)),
    )
}

fn class(class: &EmpiricalClass) -> String {
    let direction = match class.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    };
    let from = class.from.bytes();
    // The last of the eight size classes has no upper end.
    let below = (class.from.0 < 128).then(|| format!(" below {}", Bytes(2 * from.0)));
    let below = below.unwrap_or_default();
    let chosen = format!(", {} of them chosen at random", class.kept);
    let chosen = when(class.recorded != class.kept as u64, &chosen);
    let (recorded, median) = (class.recorded, duration(class.median.0 as f64));
    format!("{recorded} {direction} from {from}{below} (median {median}{chosen})")
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

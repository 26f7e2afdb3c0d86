//! The machine of a result where it was simulated, in words.

use crate::label;
use crate::phrase::{counted, listed, when};
use crate::quantity::{duration, number};
use q2c_result::{Machine, Target};
use q2c_service::SimMachine;

/// What stands first in a report of a simulated run: `8 CPUs of q2c's own machine, in simulated
/// time`. `None` for a run on a real machine.
pub(crate) fn headline(machine: &Machine) -> Option<String> {
    let SimMachine { cpus, name, .. } = machine.simulated.as_ref()?;
    Some(format!(
        "{} of {name}, in simulated time",
        counted(*cpus, "CPU")
    ))
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
    [kernel, machine.cpu_model.clone()]
        .into_iter()
        .flatten()
        .collect()
}

/// The facts of a simulated machine, names and values; `None` for a real one.
pub(crate) fn facts(machine: &Machine) -> Option<Vec<(&'static str, String)>> {
    let sim = machine.simulated.as_ref()?;
    let told = |times: &[(&str, u64)]| {
        let each = times.iter();
        listed(each.map(|(what, ns)| format!("{what} {}", duration(*ns as f64))))
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
        ("Simulated", headline(machine)?),
        ("Speed of its CPUs", number(sim.speed)),
        ("CPU costs at speed 1", told(&costs)),
        ("Delays at speed 1", told(&delays)),
        ("Slice of a thread", duration(sim.slice_ns as f64)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(sim: SimMachine) -> Machine {
        Machine {
            simulated: Some(sim),
            ..Machine::default()
        }
    }

    #[test]
    fn a_simulated_machine_is_named_with_its_cpus() {
        let own = machine(SimMachine {
            cpus: 8,
            ..SimMachine::default()
        });
        let words = "8 CPUs of q2c's own machine, in simulated time";
        assert_eq!(headline(&own).as_deref(), Some(words));
        assert_eq!(about(&own), [format!("simulated: {words}")]);
        assert!(title(&Target::default(), &own).contains("simulated"));
    }

    #[test]
    fn a_real_machine_is_not_told_as_simulated() {
        let real = Machine {
            kernel: "6.18.0".to_owned(),
            cpu_model: Some("a CPU".to_owned()),
            ..Machine::default()
        };
        assert_eq!(headline(&real), None);
        assert_eq!(about(&real), ["Linux 6.18.0", "a CPU"]);
        assert!(!title(&Target::default(), &real).contains("simulated"));
    }

    /// Every time of the machine is told: their values are unlike each other.
    #[test]
    fn facts_have_all_costs() {
        let sim = machine(SimMachine {
            slice_ns: 901,
            submission_ns: 902,
            turnaround_ns: 903,
            look_ns: 904,
            switch_ns: 905,
            timer_ns: 906,
            wake_delay_ns: 907,
            interrupt_ns: 908,
            interrupt_delay_ns: 909,
            ..SimMachine::default()
        });
        let facts = facts(&sim).unwrap().into_iter();
        let told: String = facts.map(|(_, value)| value + ";").collect();
        for ns in 901..=909 {
            assert!(told.contains(&format!("{ns} ns")), "{ns}: {told}");
        }
    }
}

//! Warnings that two results were measured under other conditions, which may be the reason why
//! their figures differ.

use q2c_result::Warning;
use q2c_result::diff::ChangedFact;
use std::collections::BTreeMap;

/// A condition: the warning's id, what differs in words, and the begins of the names of its facts.
type Condition = (&'static str, &'static str, &'static [&'static str]);

const CONDITIONS: [Condition; 2] = [
    (
        "other-cpus",
        "CPUs",
        &[
            "job.cpus",
            "machine.arch",
            "machine.cpu_model",
            "machine.cpus_online",
            "machine.hypervisor",
            "machine.numa_nodes",
            "machine.threads_per_core",
        ],
    ),
    (
        "other-kernel-settings",
        "kernel or its settings",
        &[
            "machine.clocksource",
            "machine.governor",
            "machine.idle_",
            "machine.kernel",
            "machine.other",
            "machine.preempt",
            "target.device.io_poll",
            "target.device.nomerges",
            "target.device.nr_requests",
            "target.device.scheduler",
        ],
    ),
];

/// Busy CPUs before a run, by which two runs of one load do not differ.
const ALIKE_CPUS: f64 = 0.2;

/// The conditions that differ between two results: by the facts that changed, and by the load.
pub(crate) fn other_conditions(
    changed: &[ChangedFact],
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<Warning> {
    let names = changed
        .iter()
        .map(|fact| fact.name.trim_start_matches("runs.0."));
    let differing: Vec<&str> = names.collect();
    let settings = CONDITIONS.iter().filter_map(|(id, what, begins)| {
        let differs = |begin: &&&str| differing.iter().any(|name| name.starts_with(**begin));
        let begins: Vec<&str> = begins.iter().filter(differs).copied().collect();
        (!begins.is_empty()).then(|| other(id, format!("other {what}: {}", begins.join(", "))))
    });
    settings.chain(other_load(a, b)).collect()
}

fn other_load(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Option<Warning> {
    let busy = |facts: &BTreeMap<String, String>| {
        let names = ["job.idle_busy_cpus", "runs.0.job.idle_busy_cpus"];
        let text = names.into_iter().find_map(|name| facts.get(name))?;
        text.parse::<f64>().ok()
    };
    let (a, b) = (busy(a)?, busy(b)?);
    let finding = format!("{a:.2} CPUs were busy with other work before A, {b:.2} before B");
    ((a - b).abs() > ALIKE_CPUS).then(|| other("other-load", finding))
}

fn other(id: &str, found: String) -> Warning {
    let means = "the figures may differ for this reason";
    Warning::new(id, found, means, "run both under the same conditions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::facts::changed;

    #[test]
    fn conditions_that_differ_are_warned_of() {
        let facts = |cpus: &str, scheduler: &str, busy: &str, seed: &str| {
            let names = [
                "job.cpus",
                "target.device.scheduler",
                "job.idle_busy_cpus",
                "job.seed",
            ];
            let values = [cpus, scheduler, busy, seed].map(str::to_owned);
            names.map(str::to_owned).into_iter().zip(values).collect()
        };
        let ids = |b: BTreeMap<String, String>| -> Vec<String> {
            let a = facts("[0]", "none", "0.05", "1");
            let warnings = other_conditions(&changed(&a, &b), &a, &b);
            warnings.into_iter().map(|warning| warning.id).collect()
        };
        assert!(ids(facts("[0]", "none", "0.24", "2")).is_empty());
        assert_eq!(
            ids(facts("[1]", "mq-deadline", "0.26", "1")),
            ["other-cpus", "other-kernel-settings", "other-load"]
        );
    }
}

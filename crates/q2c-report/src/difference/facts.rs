//! Settings and facts of a result, each named by its path in the JSON. Also warnings of different
//! conditions of two results, which may explain why their figures differ.

use q2c_result::Warning;
use q2c_result::diff::ChangedFact;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Settings and facts by their paths in the JSON: `machine.kernel` is `6.12.1`.
pub(crate) type NamedFacts = BTreeMap<String, String>;

/// Paths of the parts of a result that hold settings and facts. Runs within a result differ only in
/// the number of jobs, so the facts of run 0 stand for all.
const FACT_PARTS: [&str; 11] = [
    "job",
    "jobs",
    "trace",
    "input",
    "layer",
    "machine",
    "target",
    "targets",
    "runs.0.job",
    "runs.0.machine",
    "runs.0.target",
];

/// Suffixes of the names of measured values, which differ between any two runs.
const MEASURED_SUFFIXES: [&str; 3] = ["busy_cpus", "interrupt_iops", "poll_iops"];

pub(crate) fn facts_of(result: &Value) -> NamedFacts {
    let mut facts = NamedFacts::new();
    for part in FACT_PARTS {
        if let Some(value) = result.pointer(&format!("/{}", part.replace('.', "/"))) {
            add_facts(part, value, &mut facts);
        }
    }
    facts
}

fn add_facts(name: &str, value: &Value, facts: &mut NamedFacts) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                add_facts(&format!("{name}.{field}"), value, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            facts.insert(name.to_owned(), text.clone());
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, value) in items.iter().enumerate() {
                add_facts(&format!("{name}.{at}"), value, facts);
            }
        }
        other => {
            facts.insert(name.to_owned(), other.to_string());
        }
    }
}

pub(crate) fn changed_facts(a: &NamedFacts, b: &NamedFacts) -> Vec<ChangedFact> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let is_measured = |name: &String| MEASURED_SUFFIXES.iter().any(|end| name.ends_with(end));
    let differs = |name: &&String| a.get(*name) != b.get(*name) && !is_measured(name);
    let changed = names.into_iter().filter(differs).map(|name| ChangedFact {
        name: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    });
    changed.collect()
}

/// A condition: the warning's id, what differs in words, and the prefixes of its facts' names.
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

/// Two runs count as equally loaded if the CPUs busy before them differ by at most this number.
const MAX_EQUAL_LOAD_CPUS: f64 = 0.2;

/// A warning of each condition that differs between two results.
pub(crate) fn other_conditions(
    changed: &[ChangedFact],
    a: &NamedFacts,
    b: &NamedFacts,
) -> Vec<Warning> {
    let differs = |prefix: &&&str| {
        let facts = changed.iter();
        let mut names = facts.map(|fact| fact.name.trim_start_matches("runs.0."));
        names.any(|name| name.starts_with(**prefix))
    };
    let by_facts = CONDITIONS.iter().filter_map(|(id, what, prefixes)| {
        let prefixes: Vec<&str> = prefixes.iter().filter(differs).copied().collect();
        (!prefixes.is_empty())
            .then(|| condition(id, format!("other {what}: {}", prefixes.join(", "))))
    });
    by_facts.chain(other_load(a, b)).collect()
}

fn other_load(a: &NamedFacts, b: &NamedFacts) -> Option<Warning> {
    let busy = |facts: &NamedFacts| {
        let names = ["job.idle_busy_cpus", "runs.0.job.idle_busy_cpus"];
        let text = names.into_iter().find_map(|name| facts.get(name))?;
        text.parse::<f64>().ok()
    };
    let (a, b) = (busy(a)?, busy(b)?);
    let finding = format!("{a:.2} CPUs were busy with other work before A, {b:.2} before B");
    ((a - b).abs() > MAX_EQUAL_LOAD_CPUS).then(|| condition("other-load", finding))
}

fn condition(id: &str, found: String) -> Warning {
    let means = "the figures may differ for this reason";
    Warning::new(id, found, means, "run both under the same conditions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fact_is_named_by_its_place() {
        let facts = |kernel: &str, queues: Value| {
            facts_of(&json!({
                "machine": {"kernel": kernel, "cpus": [0, 1], "smt": null},
                "targets": [{"queues": queues}],
                "cells": 3
            }))
        };
        let (a, b) = (facts("6.1", json!(4)), facts("6.12", Value::Null));
        let changed = changed_facts(&a, &b);
        let changes = changed.iter();
        let changes = changes.map(|c| (c.name.as_str(), c.a.as_deref(), c.b.as_deref()));
        let kernels = ("machine.kernel", Some("6.1"), Some("6.12"));
        let queues = ("targets.0.queues", Some("4"), None);
        assert_eq!(changes.collect::<Vec<_>>(), [kernels, queues]);
        assert_eq!(a["machine.cpus"], "[0,1]");
        let nested = facts_of(&json!({"runs": [{"job": {"bs": 4096}}]}));
        let nested: Vec<_> = nested.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(nested, ["runs.0.job.bs=4096"]);
    }

    #[test]
    fn what_was_measured_is_no_change() {
        let run = |busy: f64, seed: u32| {
            facts_of(&json!({"job": {"idle_busy_cpus": busy, "seed": seed}}))
        };
        let changes = changed_facts(&run(0.1, 1), &run(0.4, 2));
        let names: Vec<&str> = changes.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names, ["job.seed"]);
    }

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
        let ids = |b: NamedFacts| -> Vec<String> {
            let a = facts("[0]", "none", "0.05", "1");
            let warnings = other_conditions(&changed_facts(&a, &b), &a, &b);
            warnings.into_iter().map(|warning| warning.id).collect()
        };
        assert!(ids(facts("[0]", "none", "0.24", "2")).is_empty());
        assert_eq!(
            ids(facts("[1]", "mq-deadline", "0.26", "1")),
            ["other-cpus", "other-kernel-settings", "other-load"]
        );
    }
}

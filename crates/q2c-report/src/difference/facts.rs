//! Settings and facts of a result, each by its place in the JSON.

use q2c_result::diff::ChangedFact;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Parts that hold settings and facts; runs within a result differ in their jobs alone.
const PARTS: [&str; 11] = [
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

/// Ends of the names of what was measured, which differs between any two runs.
const MEASUREMENTS: [&str; 3] = ["busy_cpus", "interrupt_iops", "poll_iops"];

/// The settings and facts of a result by their places: `machine.kernel` is `6.12.1`.
pub(crate) fn settings(result: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for part in PARTS {
        let place = format!("/{}", part.replace('.', "/"));
        if let Some(value) = result.pointer(&place) {
            collect(part, value, &mut facts);
        }
    }
    facts
}

fn collect(name: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                collect(&format!("{name}.{field}"), value, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            facts.insert(name.to_owned(), text.clone());
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, value) in items.iter().enumerate() {
                collect(&format!("{name}.{at}"), value, facts);
            }
        }
        other => {
            facts.insert(name.to_owned(), other.to_string());
        }
    }
}

pub(crate) fn changed(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<ChangedFact> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let is_measured = |name: &String| MEASUREMENTS.iter().any(|end| name.ends_with(end));
    let differs = |name: &&String| a.get(*name) != b.get(*name) && !is_measured(name);
    let changed = names.into_iter().filter(differs).map(|name| ChangedFact {
        name: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fact_is_named_by_its_place() {
        let facts = |kernel: &str, queues: Value| {
            settings(&json!({
                "machine": {"kernel": kernel, "cpus": [0, 1], "smt": null},
                "targets": [{"queues": queues}],
                "cells": 3
            }))
        };
        let (a, b) = (facts("6.1", json!(4)), facts("6.12", Value::Null));
        let changed = changed(&a, &b);
        let changes = changed
            .iter()
            .map(|c| (c.name.as_str(), c.a.as_deref(), c.b.as_deref()));
        let kernels = ("machine.kernel", Some("6.1"), Some("6.12"));
        let queues = ("targets.0.queues", Some("4"), None);
        assert_eq!(changes.collect::<Vec<_>>(), [kernels, queues]);
        assert_eq!(a["machine.cpus"], "[0,1]");
        let deeper = settings(&json!({"runs": [{"job": {"bs": 4096}}]}));
        let deeper: Vec<_> = deeper.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(deeper, ["runs.0.job.bs=4096"]);
    }

    #[test]
    fn what_was_measured_is_no_change() {
        let run = |busy: f64, seed: u32| {
            settings(&json!({"job": {"idle_busy_cpus": busy, "seed": seed}}))
        };
        let changes = changed(&run(0.1, 1), &run(0.4, 2));
        let names: Vec<&str> = changes.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names, ["job.seed"]);
    }
}

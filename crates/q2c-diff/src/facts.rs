//! Settings and facts of a result, each by its place in the JSON.

use q2c_result::diff::ChangedFact;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The values in some parts of a result: `machine.kernel` is `6.12.1`. A part may lie deeper, as
/// `runs.0.machine`.
pub(crate) fn of(result: &Value, parts: &[&str]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for part in parts {
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

/// The facts that differ.
pub(crate) fn changed(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<ChangedFact> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differs = |name: &&String| a.get(*name) != b.get(*name);
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
        let of = |kernel: &str, queues: Value| {
            of(
                &json!({"machine": {"kernel": kernel, "cpus": [0, 1], "smt": null}, "targets": [{"queues": queues}], "cells": 3}),
                &["machine", "targets"],
            )
        };
        let (a, b) = (of("6.1", json!(4)), of("6.12", Value::Null));
        let changed = changed(&a, &b);
        let told: Vec<_> = changed
            .iter()
            .map(|c| (c.name.as_str(), c.a.as_deref(), c.b.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("machine.kernel", Some("6.1"), Some("6.12")),
                ("targets.0.queues", Some("4"), None)
            ]
        );
        assert_eq!(a["machine.cpus"], "[0,1]");
        let deeper = super::of(
            &json!({"runs": [{"job": {"bs": 4096}}]}),
            &["runs.0.job", "x"],
        );
        let deeper: Vec<_> = deeper.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(deeper, ["runs.0.job.bs=4096"]);
    }
}

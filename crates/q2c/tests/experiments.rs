//! Runs all built-in experiments in small. Each claim gets a verdict, or a reason why there is
//! none.
//!
//! This is a separate test program, since its trials use all CPUs and a disk. Cargo runs test
//! programs one after the other.

use q2c_testkit::strict_json;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

const VERDICTS: [&str; 4] = ["holds", "does-not-hold", "undecided", "cannot-judge"];
const BASES: [&str; 2] = ["measured", "predicted"];

/// Runs `q2c reproduce` in `folder`. Returns its result and its messages.
fn reproduce(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .arg("reproduce")
        .args(arguments)
        .arg("--json")
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdin(Stdio::null())
        .output()
        .expect("q2c can be run");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("q2c writes UTF-8");
    let messages = text(output.stderr);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    (strict_json(&text(output.stdout)), messages)
}

#[track_caller]
fn field<'a>(object: &'a Value, name: &str) -> &'a str {
    let text = object[name].as_str();
    text.unwrap_or_else(|| panic!("no text `{name}` in {object}"))
}

#[track_caller]
fn entries<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    let list = object[name].as_array();
    list.unwrap_or_else(|| panic!("no list `{name}` in {object}"))
}

fn names(object: &Value) -> BTreeSet<&str> {
    let experiments = entries(object, "experiments").iter();
    experiments.map(|one| field(one, "name")).collect()
}

/// The fault in a claim of a finished experiment; `None` if the claim is right.
fn claim_fault(claim: &Value) -> Option<String> {
    let (verdict, reason) = (field(claim, "verdict"), field(claim, "why"));
    if !VERDICTS.contains(&verdict) || !BASES.contains(&field(claim, "basis")) {
        return Some("an unknown verdict or basis".to_owned());
    }
    let measured = entries(claim, "measured");
    let all_finite = measured.iter().all(|figure| {
        let is_finite = |name: &str| figure[name].as_f64().is_some_and(f64::is_finite);
        is_finite("median") && is_finite("min") && is_finite("max")
    });
    if !all_finite {
        return Some("a figure is no number".to_owned());
    }
    if reason.contains("could not be run") {
        return Some(reason.to_owned());
    }
    // One trial decides nothing, so no claim may hold or not hold, and each claim needs a reason. A
    // claim that is judged needs figures.
    match verdict {
        "cannot-judge" | "undecided" if reason.is_empty() => Some("no reason".to_owned()),
        "holds" | "does-not-hold" => Some("decided by one trial".to_owned()),
        "undecided" if measured.is_empty() => Some("undecided without figures".to_owned()),
        _ => None,
    }
}

#[test]
fn every_experiment_ends_in_verdicts_or_reasons() {
    // The scratch file must be on a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (list, _) = reproduce(folder.path(), &["--list"]);
    let (result, messages) = reproduce(
        folder.path(),
        &[
            "--all",
            "--scratch",
            "256m",
            "--scale",
            "small",
            "--trials",
            "1",
        ],
    );
    assert_eq!(field(&result, "schema"), "q2c.reproduce-all/1");
    assert_eq!(result["complete"], true);
    assert_eq!(names(&result), names(&list));
    let mut faults = Vec::new();
    for (listed, experiment) in entries(&list, "experiments")
        .iter()
        .zip(entries(&result, "experiments"))
    {
        let (name, claims) = (field(experiment, "name"), entries(experiment, "claims"));
        if listed["claims"] != claims.len() {
            let (count, expected) = (claims.len(), &listed["claims"]);
            faults.push(format!("{name}: {count} claims of {expected}"));
        }
        let wrong_claims = claims.iter().filter_map(|claim| {
            let fault = claim_fault(claim)?;
            Some(format!("{name}: {}: {fault}", field(claim, "says")))
        });
        faults.extend(wrong_claims);
    }
    assert!(faults.is_empty(), "{}\n{messages}", faults.join("\n"));
}

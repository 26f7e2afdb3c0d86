//! The costs that sweeps and simulations take from the run of their recording.

use crate::program::*;
use crate::sweep::{cell, two_lists};
use q2c_result::Warning;

/// A folder with a recording and a calibration of 4 KiB.
fn calibrated() -> Place {
    let folder = Place::new();
    two_lists(folder.path());
    let calibration = serde_json::json!([{
        "bs": 4096, "cpu": 0, "irq_cpu": null, "reused": false, "seconds": 1.0,
        "cost": q2c_model::CostModel::published(), "points": [],
    }]);
    let file = folder.path().join("calibration.json");
    fs::write(file, calibration.to_string()).expect("write the calibration");
    folder
}

/// The arguments of `q2c poll sweep` or `q2c poll sim` of the folder's recording.
const fn of_recording(command: &str) -> [&str; 5] {
    ["poll", command, "a.txt", "--unit=us", "--policy=fixed:20us"]
}

const SWEPT: [&str; 5] = of_recording("sweep");
const SIMULATED: [&str; 5] = of_recording("sim");

/// Costs that nobody named are those of the run whose folder the recording lies in. Elsewhere they
/// are q2c's own, which the first lines say. The figures are worked out in the tests of sweeps.
#[test]
fn a_recording_in_the_folder_of_a_run_has_its_costs() {
    let folder = calibrated();
    let swept = |more: &[&str]| {
        folder
            .words(&[&SWEPT[..], &["--json"], more].concat())
            .json()
    };
    let warned = |result: &Value| result["warnings"][0]["id"] == "costs-assumed";
    let taken = |result: &Value| number(cell(result, "fixed:sleep=20us"), "/cpu_ns_per_io");
    // Without the plan of a run, the file may be of anything.
    let elsewhere = swept(&[]);
    assert!(warned(&elsewhere), "{}", elsewhere["warnings"]);
    close(taken(&elsewhere), 8_000.0);
    assert!(elsewhere["answers"][0]["interrupt"].is_null());
    folder.put("plan.toml", "");
    let of_run = swept(&[]);
    close(taken(&of_run), 2_563.0 + 8_400.0);
    assert_eq!(of_run["warnings"], serde_json::json!([]));
    assert!(number(&of_run, "/answers/0/interrupt/iops") > 0.0);
    let cost = of_run["cost"].as_str().unwrap();
    assert!(
        cost.ends_with("calibration.json, the run of the recording"),
        "{cost}"
    );
    // Named costs go first, and a run without the size has none to give.
    let named = swept(&["--wake-delay", "2us"]);
    close(taken(&named), 8_000.0);
    assert!(!warned(&named));
    let larger = swept(&["--bs", "64k"]);
    assert!(warned(&larger));
    let warning = larger["warnings"][0]["found"].as_str().unwrap();
    has_words(&warning, "expected a calibration for 64 KiB, found 4 KiB");
    let of_run = folder.words(&[&SIMULATED[..], &["--json"]].concat()).json();
    close(
        number(&of_run["methods"][2], "/cpu_ns_per_io"),
        2_563.0 + 8_400.0,
    );
    let larger = folder
        .words(&[&SIMULATED[..], &["--bs", "64k"]].concat())
        .done();
    assert!(larger.contains("warning costs-assumed:"), "{larger}");
}

/// The result of the recording's run says that it was disturbed; other warnings do not count.
#[test]
fn costs_of_a_disturbed_run_are_told() {
    let folder = calibrated();
    folder.put("plan.toml", "");
    let swept = |more: &[&str]| {
        folder
            .words(&[&SWEPT[..], &["--json"], more].concat())
            .json()
    };
    let warning = |id: &str, finding: &str| Warning::new(id, finding.to_owned(), "", "");
    let result = serde_json::json!({ "schema": "any", "warnings": [
        warning("busy-at-rest", "other work kept 0.68 CPUs busy"),
        warning("two-paths", "polling differs"),
    ]});
    let result_file = folder.path().join("result.json");
    fs::write(&result_file, result.to_string()).unwrap();
    let disturbed = swept(&[]);
    assert_eq!(disturbed["warnings"][0]["id"], "costs-disturbed");
    let caveat = "the costs are of a run that was disturbed: other work kept 0.68 CPUs busy";
    assert_eq!(disturbed["warnings"][0]["found"], caveat);
    let table = folder.words(&SWEPT).done();
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = |phrase: &str| {
        table
            .find(phrase)
            .unwrap_or_else(|| panic!("{phrase}: {table}"))
    };
    assert!(
        at(&format!("caveat: {caveat}")) < at("limits: a floor"),
        "{table}"
    );
    let simulated = folder.words(&SIMULATED).done();
    has_words(&simulated, "warning costs-disturbed:");
    // Named costs are not that run's.
    assert_eq!(
        swept(&["--wake-delay", "2us"])["warnings"],
        serde_json::json!([])
    );
    fs::write(&result_file, "{}").unwrap();
    folder
        .words(&SWEPT)
        .refused(3, "expected the result of a run with its warnings");
}

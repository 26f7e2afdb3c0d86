//! The costs that sweeps and simulations take from the run of their recording.

use crate::program::*;
use crate::sweep::{cell, two_lists};
use q2c_result::Warning;

/// A folder with a recording and a calibration of 4 KiB.
fn calibrated() -> Place {
    let folder = two_lists();
    let calibration = json!([{
        "bs": 4096, "cpu": 0, "irq_cpu": null, "reused": false, "seconds": 1.0,
        "cost": q2c_model::CostModel::published(), "points": [],
    }]);
    folder.put("calibration.json", calibration.to_string());
    folder
}

/// The arguments of sweeps and simulations of the folder's recording.
const SWEPT: &str = "poll sweep a.txt --unit=us --policy=fixed:20us";
const SIMULATED: &str = "poll sim a.txt --unit=us --policy=fixed:20us";

/// Without named costs, those of the run whose folder holds the recording are used. Elsewhere q2c
/// assumes costs, and the first lines say so. The tests of sweeps derive the figures.
#[test]
fn a_recording_in_the_folder_of_a_run_has_its_costs() {
    let folder = calibrated();
    let swept = |more: &str| folder.json(format!("{SWEPT} --json {more}"));
    let warned = |result: &Value| result["warnings"][0]["id"] == "costs-assumed";
    let cpu_ns = |result: &Value| number(cell(result, "fixed:sleep=20us"), "/cpu_ns_per_io");
    // Without the plan of a run, the file may belong to anything.
    let elsewhere = swept("");
    assert!(warned(&elsewhere), "{}", elsewhere["warnings"]);
    assert_close(cpu_ns(&elsewhere), 8_000.0);
    assert!(elsewhere["answers"][0]["interrupt"].is_null());
    folder.put("plan.toml", "");
    let of_run = swept("");
    assert_close(cpu_ns(&of_run), 2_563.0 + 8_400.0);
    assert_eq!(of_run["warnings"], json!([]));
    assert!(number(&of_run, "/answers/0/interrupt/iops") > 0.0);
    let cost = of_run["cost"].as_str().unwrap();
    let source = "calibration.json, the run of the recording";
    assert!(cost.ends_with(source), "{cost}");
    // Named costs win, and a run without the size has no costs for it.
    let named = swept("--wake-delay 2us");
    assert_close(cpu_ns(&named), 8_000.0);
    assert!(!warned(&named));
    let larger = swept("--bs 64k");
    assert!(warned(&larger));
    let warning = larger["warnings"][0]["found"].as_str().unwrap();
    has_words(warning, "expected a calibration for 64 KiB, found 4 KiB");
    let of_run = folder.json(format!("{SIMULATED} --json"));
    let cpu_ns = number(&of_run, "/methods/2/cpu_ns_per_io");
    assert_close(cpu_ns, 2_563.0 + 8_400.0);
    let larger = folder.done(format!("{SIMULATED} --bs 64k"));
    has_words(&larger, "warning costs-assumed:");
}

/// The result of the recording's run says that it was disturbed; other warnings do not count.
#[test]
fn costs_of_a_disturbed_run_are_told() {
    let folder = calibrated();
    folder.put("plan.toml", "");
    let swept = |more: &str| folder.json(format!("{SWEPT} --json {more}"));
    let warning = |id: &str, finding: &str| Warning::new(id, finding.to_owned(), "", "");
    let result = json!({ "schema": "any", "warnings": [
        warning("busy-at-rest", "other work kept 0.68 CPUs busy"),
        warning("two-paths", "polling differs"),
    ]});
    folder.put("result.json", result.to_string());
    let disturbed = swept("");
    assert_eq!(disturbed["warnings"][0]["id"], "costs-disturbed");
    let caveat = "the costs are of a run that was disturbed: other work kept 0.68 CPUs busy";
    assert_eq!(disturbed["warnings"][0]["found"], caveat);
    let table = unwrapped(&folder.done(SWEPT));
    let (before, _) = table.split_once("limits: a floor").unwrap();
    has_words(before, &[format!("caveat: {caveat}").as_str()]);
    let simulated = folder.done(SIMULATED);
    has_words(&simulated, "warning costs-disturbed:");
    // Named costs do not come from that run.
    assert_eq!(swept("--wake-delay 2us")["warnings"], json!([]));
    folder.put("result.json", "{}");
    let none = folder.q2c(SWEPT);
    none.refused(3, "expected the result of a run with its warnings");
}

//! The choice of CPUs on this machine's disk, if it has several CPUs and the device is known.

use crate::program::*;

const SHORT: &str = "--seconds 0.2 --warm-up 0.25 --trials 1 --method interrupt";

fn bench(cpus: &str) -> (Value, String) {
    let folder = Place::new();
    let result = folder.json(format!("bench --scratch 8m --json {SHORT} {cpus}"));
    // Without a name, the latest run is drawn.
    (result, folder.done("report"))
}

#[test]
fn the_cpu_of_the_first_job_is_chosen_by_trials_unless_it_is_named() {
    let several = std::thread::available_parallelism().unwrap().get() > 1;
    for auto in ["", "--cpus auto"] {
        let (result, report) = bench(auto);
        if !several || result["target"]["device"].is_null() {
            return skip("it needs two CPUs and a target whose device is known");
        }
        let trials = result["target"].list("cpu_trials");
        assert!(trials.len() > 1, "{trials:?}");
        let positive = |trial: &Value| trial["interrupt_iops"].as_f64().unwrap() > 0.0;
        assert!(trials.iter().all(positive), "{trials:?}");
        let chosen: Vec<_> = trials.iter().filter(|t| t["chosen"] == true).collect();
        assert_eq!(chosen.len(), 1, "{trials:?}");
        assert_eq!(chosen[0]["cpu"], result["job"]["cpus"][0]);
        has_words(&report, "tried from: CPU ");
        let checks = result["doctor"].list("checks");
        let line = checks.iter().find(|check| check["id"] == "irq-cpus");
        let finding = line.map_or("", |line| line["found"].as_str().unwrap());
        // A device without its own interrupt lines, such as a RAM disk, has no figure there.
        let absent = finding.is_empty() || finding.contains("no interrupt line");
        assert!(absent || finding.contains("a job at depth 1"), "{finding}");
    }
    let (named, report) = bench("--cpus 0");
    assert!(named["target"].get("cpu_trials").is_none(), "{named:#}");
    assert!(!report.contains("tried from"), "{report}");
}

//! Tests that the report of a simulated run says so before any figure.

use crate::{PIPE, fixture, tune_jobs_fixture};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::Machine;
use q2c_result::diff::{DiffResult, DiffSide, SCHEMA};
use q2c_service::SimMachine;

fn machine() -> Machine {
    Machine {
        simulated: Some(SimMachine::default()),
        ..Machine::default()
    }
}

#[test]
fn a_simulated_run_says_so_at_once() {
    let mut tune = fixture::tune();
    tune.machine = machine();
    let jobs = tune_jobs_fixture::over_jobs(&tune);
    let mut bench = fixture::bench();
    bench.machine = machine();
    let wide = Screen {
        width: 2_000,
        ..PIPE
    };
    for text in [
        tune.document().text(wide),
        jobs.document().text(wide),
        bench.document().text(wide),
    ] {
        let expected = "simulated: 8 CPUs of q2c's own machine, in simulated time";
        assert_eq!(text.lines().nth(1), Some(expected), "{text}");
    }
    for page in [
        tune.document().page(),
        jobs.document().page(),
        bench.document().page(),
    ] {
        let page = page.unwrap();
        let head = page.split("</header>").next().unwrap();
        for part in [
            ", simulated</title>",
            ", simulated</h1>",
            "in simulated time",
        ] {
            assert!(head.contains(part), "{part}");
        }
        assert!(!head.contains("Linux"));
        assert!(page.contains("<dt>Delays at speed 1</dt>") && !page.contains("<dt>Kernel</dt>"));
    }
}

#[test]
fn a_diff_of_a_simulated_and_a_measured_run_says_so_first() {
    let side = |simulated| DiffSide {
        path: "result.json".to_owned(),
        version: "0".to_owned(),
        started_unix_s: None,
        complete: true,
        simulated,
        warnings: Vec::new(),
    };
    for (a, b) in [(true, false), (false, true), (true, true), (false, false)] {
        let result = DiffResult {
            schema: SCHEMA.to_owned(),
            version: "0".to_owned(),
            of: "kind".to_owned(),
            a: side(a),
            b: side(b),
            figures: Vec::new(),
            unpaired: Vec::new(),
            changed: Vec::new(),
            warnings: Vec::new(),
            limits: Vec::new(),
        };
        for text in [result.document().text(PIPE), result.document().markdown()] {
            let before = text.lines().take_while(|line| !line.contains("no figure"));
            let lines = before.filter(|line| line.contains("measured on a real machine"));
            assert_eq!(lines.count(), usize::from(a != b), "{text}");
        }
    }
}

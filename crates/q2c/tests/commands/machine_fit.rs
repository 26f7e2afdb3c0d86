//! Tests of `q2c machine fit`. What is measured is a simulated machine, so its costs are known.

use crate::program::*;
use crate::simulated::MACHINE;

/// A folder with a machine whose costs are not those of q2c's own.
fn place() -> Place {
    let costs = [
        ("submission_ns = 500", "submission_ns = 900"),
        ("turnaround_ns = 100", "turnaround_ns = 300"),
        ("wake_delay_ns = 2500", "wake_delay_ns = 4000"),
        (
            "interrupt_delay_ns = 3000",
            "interrupt_delay_ns = 6000\ninterrupt_switch_ns = 1200\nmiss_delay_ns = 4700",
        ),
    ];
    let text = costs.iter().fold(MACHINE.to_owned(), |text, (from, to)| {
        text.replace(from, to)
    });
    Place::with_file("m.toml", text)
}

/// The fitted machine, and the keys of its values that were not stated.
fn fit(place: &Place, from: &str) -> (Value, Vec<String>) {
    let machine = place.json(format!("machine fit {from} --out {from}.toml --json"));
    let keys = machine["sources"].as_object().unwrap().keys().cloned();
    let keys = keys.collect();
    (machine, keys)
}

const MEASURED: [(&str, f64); 6] = [
    ("/submission_ns", 900.0),
    ("/turnaround_ns", 300.0),
    ("/wake_delay_ns", 4_000.0),
    ("/interrupt_delay_ns", 6_000.0),
    ("/miss_delay_ns", 4_700.0),
    ("/interrupt_switch_ns", 1_200.0),
];

#[test]
fn a_calibration_gives_the_costs_of_the_machine_that_it_ran_on() {
    let place = place();
    let calibration = place.done("calibrate sim:80us --machine m.toml --json");
    place.put("c.json", calibration);
    let (machine, keys) = fit(&place, "c.json");
    for (key, ns) in MEASURED {
        assert_near(number(&machine, key), ns, 0.05);
    }
    assert_eq!(keys.len(), 11, "{keys:?}");
    // The machine that was written is one that commands take.
    place.done("bench sim:80us --method poll --seconds 0.2 --machine c.json.toml");
}

/// Each calibration by an interface shows its costs; the first ones are the machine's, too.
#[test]
fn calibrations_by_interfaces_give_the_costs_of_each() {
    let place = place();
    let text = place.text("m.toml");
    let interfaces = "[interfaces.io_uring]\nsubmission_ns = 700\n\
        [interfaces.libaio]\nsubmission_ns = 1500\nturnaround_ns = 200\n";
    place.put("m.toml", text + interfaces);
    for name in ["io_uring", "libaio"] {
        let command = format!("calibrate sim:80us --engine {name} --machine m.toml --json");
        place.put(format!("{name}.json"), place.done(command));
    }
    let machine = place.json("machine fit io_uring.json libaio.json -o fit.toml --json");
    for (key, ns) in [
        ("/submission_ns", 700.0),
        ("/interfaces/io_uring/submission_ns", 700.0),
        ("/interfaces/libaio/submission_ns", 1_500.0),
        ("/interfaces/libaio/turnaround_ns", 200.0),
    ] {
        assert_near(number(&machine, key), ns, 0.05);
    }
    let again = "machine fit io_uring.json io_uring.json -o twice.toml";
    place.q2c(again).refused(3, &["found io_uring again"]);
    place.put("plain.json", place.done("calibrate sim:80us --json"));
    place.put(
        "large.json",
        place.done("calibrate sim:80us --engine libaio --bs 64k --machine m.toml --json"),
    );
    let large = "machine fit io_uring.json large.json -o large.toml";
    place
        .q2c(large)
        .refused(3, &["expected a calibration at 4 KiB"]);
    let plain = "machine fit io_uring.json plain.json -o plain.toml";
    place
        .q2c(plain)
        .refused(3, &["expected a calibration by io_uring or libaio"]);
}

#[test]
fn a_recording_gives_what_it_shows() {
    let place = place();
    place.done("tune sim:80us --bs 4k --seconds 0.1 --trials 1 --machine m.toml");
    let run = place.only_run();
    let name = run.strip_prefix(place.path()).unwrap().display();
    let (machine, keys) = fit(&place, &format!("{name}/trace-4096.parquet"));
    assert_eq!(keys, ["submission_ns", "turnaround_ns"]);
    for (key, ns) in &MEASURED[..2] {
        assert_near(number(&machine, key), *ns, 0.01);
    }
    let (machine, _) = fit(&place, &name.to_string());
    assert_near(number(&machine, "/wake_delay_ns"), 4_000.0, 0.05);
}

#[test]
fn what_shows_no_cost_is_refused_by_name() {
    let place = place();
    place.put("list.json", "[]");
    place.put("list.txt", "31.2\n30.4\n");
    place.put("bench.json", r#"{"schema": "q2c.bench/1"}"#);
    for (from, reason) in [
        ("list.json", "expected a calibration, found none"),
        ("bench.json", "expected schema q2c.tune/"),
        ("none.parquet", "none.parquet"),
    ] {
        let ended = place.q2c(format!("machine fit {from} -o fit.toml"));
        ended.refused(3, &[reason]);
    }
    assert!(!place.path().join("fit.toml").exists());
    place
        .q2c("machine fit m.toml -o m.toml")
        .refused(2, &["found an existing file"]);
}

//! The reports of `q2c scale predict`.

#[path = "fixture/facts.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod facts;
#[path = "fixture/figures.rs"]
mod figures;
mod widths;

use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_report::terminal::{self, Screen};
use q2c_result::Warning;
use q2c_result::scale::{
    Answer, CurvePoint, Measured, Parameters, Resource, SCHEMA, ScaleResult, Value, WhatIf,
};
use serde_json::json;

const HOSTILE: &str = "</script><b>x";

/// Measured up to 4 jobs, predicted up to 12; all figures are chosen by hand.
fn result() -> ScaleResult {
    let point = |jobs: u32| CurvePoint {
        jobs,
        iops: 50_000.0 * f64::from(jobs.min(9)),
        low: 49_000.0 * f64::from(jobs.min(9)),
        high: 52_000.0 * f64::from(jobs.min(9)),
        measured: jobs <= 4,
    };
    ScaleResult {
        schema: SCHEMA.into(),
        version: "0.1.0".into(),
        started_unix_s: 1_795_478_400,
        run: Some(Measured {
            path: format!("runs/{HOSTILE}"),
            engine: "io_uring".into(),
            method: Method::INTERRUPT,
            depth: 1,
            bs: Bytes(4096),
            rw: "randread".into(),
            physical_cores: 32,
            fitted_up_to: 4,
            machine: facts::machine(),
            target: facts::target(),
        }),
        parameters_file: None,
        cores: 12,
        jobs: 12,
        parameters: Parameters {
            depth: 1,
            cpu_ns: Value {
                value: 6_000.0,
                low: 5_900.0,
                high: 6_100.0,
            },
            device_ns: Value::exact(13_000.0),
            lock_ns: Value {
                value: 2_000.0,
                low: 1_900.0,
                high: 2_200.0,
            },
            lock_growth: Value::exact(0.1),
            queues: Some(20),
            tags: Some(128),
            shared_stage: Some("I2D".into()),
            ..Parameters::default()
        },
        curve: (1..=12).map(point).collect(),
        ends_at: Some(9),
        ends_between: Some((8, None)),
        resource: Some(Resource::Lock),
        peak: None,
        answer: Answer::Ends,
        what_if: vec![WhatIf {
            resource: Resource::Lock,
            jobs: 12,
            gain_pct: 33.3,
        }],
        leave_out_error_pct: Some(0.4),
        resamples: 200,
        seed: 1,
        warnings: vec![Warning::new("far-beyond", "found".into(), "means", "todo")],
    }
}

#[test]
fn scale_fits_every_width() {
    widths::snapshots("scale", |screen| terminal::scale(&result(), screen));
}

/// No prediction is drawn as a measurement: the measured points are one solid trace, everything
/// else is dashed.
#[test]
fn a_prediction_is_dashed_and_a_measurement_is_solid() {
    let page = q2c_report::html::scale(&result()).expect("make the page");
    let figures = figures::of(&page);
    let traces = figures["scale"][0]["data"].as_array().expect("traces");
    for trace in traces {
        let measured = trace["name"] == "measured";
        assert_eq!(trace["line"]["dash"] == "dash", !measured, "{trace}");
        let jobs = if measured {
            json!([1.0, 2.0, 3.0, 4.0])
        } else {
            json!([5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
        };
        assert_eq!(trace["x"], jobs);
    }
    assert_eq!(traces.len(), 4);
    assert!(!page.contains(HOSTILE));
    assert_eq!(page.matches("</script>").count(), 3);
}

#[test]
fn what_is_not_known_is_said() {
    let screen = Screen {
        width: 120,
        colour: false,
    };
    let mut unsure = result();
    (unsure.answer, unsure.ends_at) = (Answer::Uncertain, None);
    let text = terminal::scale(&unsure, screen);
    assert!(text.contains("not yet to be told: a lock shows"), "{text}");
    let mut nothing = result();
    (nothing.answer, nothing.ends_at, nothing.ends_between) = (Answer::NothingSeen, None, None);
    let text = terminal::scale(&nothing, screen);
    assert!(text.contains("no limit shows up to 4 jobs"), "{text}");
}

#[test]
fn each_row_says_whether_it_was_measured() {
    let csv = q2c_report::csv::scale(&result()).expect("make the CSV");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 13);
    assert_eq!(rows[4], "4,200000,196000,208000,true");
    assert_eq!(rows[5], "5,250000,245000,260000,false");
}

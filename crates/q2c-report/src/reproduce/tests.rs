use super::*;
use q2c_model::Rates;
use q2c_result::Machine;
use q2c_result::mode::{ModeKind, WaitMode};
use serde_json::json;

/// A result with one claim, judged from the first, second and fifth of five trials. Trials count
/// from 0 in results, and from 1 in text.
fn partly_judged() -> ReproduceResult {
    let failed = |trial: u32| json!({"trial": trial, "why": {"told": "the disk was gone"}});
    let trials = json!({"judged": 3, "asked": 5, "left_out": [failed(2), failed(3)]});
    let expected = json!({
        "text": "fast.iops > slow.iops", "unit": "", "trials": trials, "verdict": "holds",
        "measured": {"median": 400.0, "min": 300.0, "max": 500.0, "trials": 3},
        "right": {"median": 150.0, "min": 100.0, "max": 200.0, "trials": 3},
    });
    let claim = json!({
        "says": "it is so", "published": null, "read_as": null, "verdict": "holds",
        "basis": "measured", "expects": [expected], "needs": [], "reasons": [],
    });
    serde_json::from_value(json!({
        "schema": "", "version": "0", "started_unix_s": 0, "seconds": 1.0, "complete": true,
        "seed": 1, "name": "small", "title": "Is it so?", "variant_of": null,
        "setting": "nowhere", "scale": 1.0, "trials": 5, "machine": Machine::default(),
        "target": null, "study": "jobs", "devices": [], "jobs": [], "phases": [], "windows": [],
        "axes": [], "points": [], "claims": [claim], "charts": [], "warnings": [],
    }))
    .unwrap()
}

/// The claim's line in the list of experiments has its number of trials, the missing trials, and
/// the right side of its comparison.
#[test]
fn the_line_of_a_claim_has_its_trials() {
    let line = experiment_line(&partly_judged());
    let figure = &line.claims[0].measured[0];
    assert_eq!((figure.over_trials.trials, figure.trials_asked), (3, 5));
    assert_eq!(figure.right.unwrap().median, 150.0);
    let reason = &line.claims[0].why;
    assert!(
        reason.contains("from 3 of 5 trials (left out: trials 3, 4: the disk"),
        "{reason}"
    );
    let result = partly_judged();
    let document = result.document();
    let screen = crate::terminal::Screen::new(400, false);
    for text in [document.text(screen), document.page().unwrap()] {
        for words in [
            "fast.iops 400 [300, 500] against slow.iops 150 [100, 200]",
            "from 3 of 5 trials (left out: trials 3, 4: the disk was gone)",
            "1 claim: 1 holds, 0 do not hold, 0 are undecided, 0 cannot be judged here",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let trials = serde_json::to_value(&result.claims[0].expects[0]).unwrap()["trials"].clone();
    let left_out = &trials["left_out"][0]["trial"];
    assert_eq!(
        [&trials["judged"], &trials["asked"], left_out],
        [&json!(3), &json!(5), &json!(2)]
    );
}

/// Two intervals: 1 s with 100 I/Os, a tenth of them misses; 3 s with 300, half of them misses.
#[test]
fn whole_phases_are_weighted_by_hand() {
    let tick = |seconds: f64, miss_rate: f64, mean_ns: f64| Tick {
        seconds,
        ios: 100.0 * seconds,
        handled: 100.0 * seconds,
        rates: Rates {
            cpu_pct: 10.0 * seconds,
            miss_rate,
            ..Rates::default()
        },
        mean_ns,
        ..Tick::default()
    };
    let job = JobSeries {
        ticks: vec![tick(1.0, 0.1, 1_000.0), tick(3.0, 0.5, 2_000.0)],
        was: Some(WaitMode {
            kind: ModeKind::Interrupt,
            ..WaitMode::default()
        }),
        ..JobSeries::default()
    };
    let mut figures = JobPhaseFigures::default();
    // Two equal trials: thousand IOPS, misses, CPU, mean latency and method.
    figures.add(&job);
    figures.add(&job);
    assert_eq!(
        figures.fields(),
        ["0.10", "40.0", "25.0", "1.75 us", "interrupt"]
    );
}

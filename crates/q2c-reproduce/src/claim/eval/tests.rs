use super::*;
use crate::claim::parse::expect;
use q2c_model::Rates;
use q2c_result::reproduce::{Axis, JobSeries, PhaseTrial, PointTrial, Tick, Window};
use std::collections::BTreeMap;

/// An interval of a second with `ios` I/Os, all handled by a rule; `miss_rate` of them missed.
fn tick(end_s: f64, ios: f64, miss_rate: f64) -> Tick {
    Tick {
        end_s,
        seconds: 1.0,
        ios,
        handled: ios,
        rates: Rates {
            iops: ios,
            cpu_pct: 40.0,
            miss_rate,
            effective_sleep_ns: 1_000.0 * ios,
        },
        mean_ns: 100.0 * ios,
        p50_ns: ios,
        p99_ns: 2.0 * ios,
    }
}

fn phase(ticks: Vec<Tick>) -> PhaseTrial {
    PhaseTrial {
        seconds: ticks.len() as f64,
        interrupts: Some(50),
        jobs: vec![JobSeries {
            job: "foreground".to_owned(),
            lanes: 1,
            busy_cpus: Some(0.5),
            ticks,
            ..JobSeries::default()
        }],
        ..PhaseTrial::default()
    }
}

fn point(jobs: &str, phases: Vec<PhaseTrial>) -> Point {
    Point {
        at: BTreeMap::from([("jobs".to_owned(), jobs.to_owned())]),
        trials: vec![PointTrial {
            trial: 0,
            phases,
            ..PointTrial::default()
        }],
        ..Point::default()
    }
}

fn scope() -> ClaimScope {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    ClaimScope {
        windows: vec![Window {
            name: "steady".to_owned(),
            from_s: 1.0,
            to_s: None,
        }],
        phases: names(&["none", "heavy"]),
        lengths_s: vec![3.0, 3.0],
        jobs: names(&["foreground"]),
        axes: vec![Axis {
            name: "jobs".to_owned(),
            values: names(&["1", "2", "4"]),
        }],
        figures: FIGURES.map(str::to_owned).to_vec(),
    }
}

/// Three points whose phase `none` has 100, 200 and 150 I/Os in each of three seconds. The first
/// point has a phase `heavy` with 40, 10 and 30.
fn points() -> Vec<Point> {
    let even = |ios: f64| phase((1..=3).map(|n| tick(f64::from(n), ios, 0.0)).collect());
    let heavy = vec![
        tick(1.0, 40.0, 0.9),
        tick(2.0, 10.0, 0.4),
        tick(3.0, 30.0, 0.2),
    ];
    vec![
        point("1", vec![even(100.0), phase(heavy)]),
        point("2", vec![even(200.0)]),
        point("4", vec![even(150.0)]),
    ]
}

fn evaluate_text(text: &str, points: &[Point]) -> Evaluated {
    let expect = expect(text).unwrap();
    let context = ClaimContext::default().with("phase", "none");
    let context = context.with("jobs", "1");
    scope().check(&expect, &context).unwrap();
    evaluate(&expect, &scope(), &context, points)
}

fn left_value(text: &str) -> Result<f64, MissingFigure> {
    let evaluated = evaluate_text(&format!("{text} > 0"), &points());
    match evaluated.missing {
        Some(missing) => Err(missing),
        None => Ok(evaluated.samples[0].left),
    }
}

#[test]
fn figures_are_of_their_window_phase_and_point() {
    for (text, wanted) in [
        ("iops", 100.0),
        ("iops[jobs=4]", 150.0),
        ("heavy.iops", 80.0 / 3.0),
        ("heavy.steady.iops", 20.0),
        // Weighted by I/Os: (10 * 0.4 + 30 * 0.2) / 40.
        ("heavy.steady.miss_rate", 0.25),
        ("heavy.steady.latency", (10e3 + 90e3) / 40.0),
        ("heavy.p99", 60.0),
        ("cpu", 0.4),
        ("kiops_per_core", 0.2),
        ("interrupts_per_io", 50.0 / 300.0),
        ("ratio(heavy.steady.iops, none)", 0.2),
        ("highest(heavy.iops)", 40.0),
        ("lowest(heavy.miss_rate)", 0.2),
        ("max(iops over jobs)", 200.0),
        ("argmax(iops over jobs)", 2.0),
        ("argmin(iops over jobs)", 1.0),
        ("mean(iops over jobs)", 150.0),
        ("spread(iops over jobs)", 100.0 / 150.0),
        ("min(iops over jobs=2..4)", 150.0),
        ("max(iops over phase)", 100.0),
        ("iops[jobs=4] - iops / 4 * 2 + 3", 103.0),
        ("greater(iops, iops[jobs=4])", 150.0),
        ("greater(iops - 1, 2 * iops)", 200.0),
    ] {
        let value = left_value(text).unwrap();
        assert!((value - wanted).abs() < 1e-9 * wanted, "{text}: {value}");
    }
}

#[test]
fn a_figure_that_is_missing_says_why() {
    let missing = left_value("heavy.iops[jobs=2]").unwrap_err();
    assert_eq!(missing.at["jobs"], "2");
    assert!(missing.why.contains("did no I/O"), "{missing:?}");
    let divided = left_value("iops / (iops - iops)").unwrap_err();
    assert!(divided.why.contains("divides by 0"), "{divided:?}");
    // The right side of a comparison may also be no finite number.
    let none = evaluate_text("iops > 1 / (iops - iops)", &points());
    assert!(none.samples.is_empty() && none.missing.is_some());
    let mut failed = points();
    failed[0].trials.clear();
    failed[0].failures = vec!["the device is gone".to_owned()];
    let missing = evaluate_text("iops > 0", &failed).missing;
    assert_eq!(missing.unwrap().why, "the device is gone");
}

#[test]
fn figures_without_phases_are_read_by_name() {
    let mut point = Point {
        predicted: true,
        ..Point::default()
    };
    for (trial, gain) in [(0, 0.1), (1, 0.2)] {
        point.trials.push(PointTrial {
            trial,
            figures: BTreeMap::from([("gain".to_owned(), gain)]),
            ..PointTrial::default()
        });
    }
    let scope = ClaimScope {
        figures: vec!["gain".to_owned()],
        ..ClaimScope::default()
    };
    let text = expect("gain ~ 15 % +- 6 %").unwrap();
    let evaluated = evaluate(&text, &scope, &ClaimContext::default(), &[point]);
    let lefts: Vec<f64> = evaluated.samples.iter().map(|sample| sample.left).collect();
    assert_eq!(lefts, [0.1, 0.2]);
    let mut samples = evaluated.samples.iter();
    assert!(evaluated.predicted && samples.all(|sample| sample.side == ClaimSide::Inside));
}

#[test]
fn an_interval_without_ios_has_no_share_of_misses_and_takes_none_from_the_others() {
    let mut points = points();
    points[0].trials[0].phases[1].jobs[0].ticks[1] = tick(2.0, 0.0, 0.0);
    let text = "highest(heavy.miss_rate) > 0";
    assert_eq!(evaluate_text(text, &points).samples[0].left, 0.9);
    for tick in &mut points[0].trials[0].phases[1].jobs[0].ticks {
        tick.handled = 0.0;
    }
    let none = evaluate_text(text, &points).missing.unwrap();
    assert!(none.why.contains("no sleep rule handled"));
}

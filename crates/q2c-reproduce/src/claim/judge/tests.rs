use super::*;
use crate::claim::parse::expect;
use ReproduceVerdict::{CannotJudge, DoesNotHold, Holds, Undecided};
use proptest::prelude::*;
use q2c_model::Rates;
use q2c_result::reproduce::{
    FailedTrial, JobSeries, MissingFigure, PhaseTrial, PointTrial, Tick, TrialFailure, Window,
};
use std::collections::BTreeMap;

/// One point with the figure `x`, which has one value for each trial.
fn points(values: &[f64]) -> Vec<Point> {
    let trial = |(n, value): (usize, &f64)| PointTrial {
        trial: n as u32,
        figures: BTreeMap::from([("x".to_owned(), *value)]),
        ..PointTrial::default()
    };
    vec![Point {
        trials: values.iter().enumerate().map(trial).collect(),
        ..Point::default()
    }]
}

fn claim(expects: &[&str]) -> Claim {
    Claim {
        says: "x is as expected".to_owned(),
        expects: expects.iter().map(|text| expect(text).unwrap()).collect(),
        ..Claim::default()
    }
}

fn judge_points(claim: &Claim, points: &[Point]) -> JudgedClaim {
    judge_trials(claim, points, points[0].trials.len() as u32)
}

fn judge_trials(claim: &Claim, points: &[Point], trials: u32) -> JudgedClaim {
    let scope = ClaimScope {
        figures: vec!["x".to_owned(), "y".to_owned()],
        ..ClaimScope::default()
    };
    let run = JudgedRun {
        points,
        scale: 1.0,
        trials,
        model_error: None,
    };
    judge_claim(claim, &scope, &run)
}

fn verdict_of(text: &str, values: &[f64]) -> ReproduceVerdict {
    judge_points(&claim(&[text]), &points(values)).verdict
}

#[test]
fn wholly_inside_holds_wholly_outside_does_not_and_across_is_undecided() {
    for (text, values, wanted) in [
        ("x > 10 %", [0.11, 0.2, 0.3], Holds),
        ("x > 10 %", [0.10, 0.2, 0.3], Undecided),
        ("x >= 10 %", [0.10, 0.2, 0.3], Holds),
        ("x > 10 %", [0.02, 0.05, 0.10], DoesNotHold),
        ("x < 3", [1.0, 2.0, 2.9], Holds),
        ("x <= 3", [3.0, 4.0, 5.0], Undecided),
        ("x ~ 0.1 +- 0.05", [0.06, 0.10, 0.15], Holds),
        ("x ~ 0.1 +- 0.05", [0.16, 0.3, 0.9], DoesNotHold),
        ("x ~ 0.1 +- 0.05", [0.01, 0.02, 0.04], DoesNotHold),
        // All trials are outside, but their interval spans the claimed range.
        ("x ~ 0.1 +- 0.05", [0.01, 0.3, 0.9], Undecided),
    ] {
        assert_eq!(verdict_of(text, &values), wanted, "{text} {values:?}");
    }
}

#[test]
fn one_expression_outside_decides_and_one_across_leaves_it_open() {
    let values = points(&[1.0, 2.0, 3.0]);
    let result = judge_points(&claim(&["x > 0", "x < 10"]), &values);
    assert_eq!((result.verdict, result.reasons.len()), (Holds, 0));
    let result = judge_points(&claim(&["x > 0", "x < 2"]), &values);
    let across = Reason::Across {
        text: "x < 2".to_owned(),
    };
    assert_eq!(result.verdict, Undecided);
    assert_eq!(result.reasons, [across]);
    let result = judge_points(&claim(&["x < 2", "x > 5", "y > 1"]), &values);
    assert_eq!(result.verdict, DoesNotHold);
    let medians = result
        .expects
        .iter()
        .map(|expected| Some(expected.measured?.median));
    assert_eq!(medians.collect::<Vec<_>>(), [Some(2.0), Some(2.0), None]);
}

#[test]
fn too_few_trials_are_no_interval() {
    let result = judge_points(&claim(&["x > 0"]), &points(&[1.0, 2.0]));
    assert_eq!(result.verdict, Undecided);
    let (trials, least) = (2, 3);
    assert_eq!(result.reasons, [Reason::FewTrials { trials, least }]);
}

#[test]
fn what_the_machine_lacks_is_never_scored_and_still_shown() {
    let mut wanting = claim(&["x > 0"]);
    wanting.needs = vec![Need {
        kind: NeedKind::Kernel,
        needed: "below 5.0".to_owned(),
        present: "6.1".to_owned(),
        met: false,
    }];
    let values = points(&[1.0, 2.0, 3.0]);
    let result = judge_points(&wanting, &values);
    assert_eq!(result.verdict, CannotJudge);
    assert_eq!(result.expects[0].verdict, CannotJudge);
    assert_eq!(result.expects[0].measured.unwrap().median, 2.0);
    assert_eq!(result.reasons, [Reason::Lacks]);
    wanting.needs[0].met = true;
    assert_eq!(judge_points(&wanting, &values).verdict, Holds);
}

#[test]
fn jobs_without_a_cpu_each_are_a_lack_on_a_simulated_machine_too() {
    let mut values = points(&[1.0, 2.0, 3.0]);
    let (needed, present) = (5, 2);
    values[0].cpus = vec![CpuUse {
        needed,
        present,
        unpinned: None,
    }];
    let result = judge_points(&claim(&["x > 0"]), &values);
    assert_eq!(result.verdict, CannotJudge);
    let need = &result.needs[0];
    assert_eq!((need.needed.as_str(), need.present.as_str()), ("5", "2"));
    values[0].predicted = true;
    let result = judge_points(&claim(&["x > 0"]), &values);
    assert_eq!(result.verdict, CannotJudge);
    assert_eq!(result.basis, Basis::Predicted);
}

/// Five trials were requested. Of those that ran, the second failed and the fourth has no `y`.
#[test]
fn trials_that_say_nothing_are_counted_and_named() {
    let mut values = points(&[1.0, 9.0, 3.0, 4.0, 5.0]);
    let failed = FailedTrial {
        trial: 1,
        why: TrialFailure::Told("the device was busy".to_owned()),
    };
    values[0].trials.remove(1);
    values[0].failed = vec![failed.clone()];
    for trial in &mut values[0].trials {
        if trial.trial != 3 {
            trial.figures.insert("y".to_owned(), 1.0);
        }
    }
    let result = judge_trials(&claim(&["x > 0", "x > y - 1"]), &values, 5);
    let [x, y] = &result.expects[..] else {
        panic!("{result:?}");
    };
    assert_eq!((x.trials.judged, x.trials.asked), (4, 5));
    assert_eq!(x.trials.left_out, [failed]);
    assert_eq!((y.trials.judged, y.trials.asked), (3, 5));
    let numbers = y.trials.left_out.iter().map(|failed| failed.trial);
    assert_eq!(numbers.collect::<Vec<u32>>(), [1, 3]);
    // A run that was stopped after four of nine trials.
    let result = judge_trials(&claim(&["x > 0"]), &values, 9);
    let trials = &result.expects[0].trials;
    assert_eq!((trials.judged, trials.asked), (4, 9));
    assert_eq!(trials.left_out.len(), 1);
}

#[test]
fn the_right_side_has_its_interval_where_it_is_a_figure() {
    let mut values = points(&[3.0, 4.0, 5.0]);
    for (trial, y) in values[0].trials.iter_mut().zip([10.0, 30.0, 20.0]) {
        trial.figures.insert("y".to_owned(), y);
    }
    let right = |text: &str| judge_points(&claim(&[text]), &values).expects[0].right;
    assert_eq!(right("x > 2"), None);
    assert_eq!(right("x ~ 4 +- 3"), None);
    let interval = |values: [f64; 3]| Some(Interval::from_samples(&values));
    assert_eq!(right("x < y"), interval([10.0, 20.0, 30.0]));
    assert_eq!(right("x < y / 2 - 1"), interval([4.0, 9.0, 14.0]));
    assert_eq!(right("x ~ y +- 30"), interval([10.0, 20.0, 30.0]));
}

/// A phase of 2 s with two jobs. The rule of one has the period `period_s`; the other has no rule.
fn with_rule(phase_name: &str, window: Window, text: &str, period_s: Option<f64>) -> JudgedClaim {
    let tick = |n: u32| Tick {
        end_s: f64::from(n) * 0.01,
        seconds: 0.01,
        ios: 10.0,
        handled: 10.0,
        rates: Rates {
            miss_rate: 0.5,
            ..Rates::default()
        },
        ..Tick::default()
    };
    let job = |name: &str, rule_period_s: Option<f64>| JobSeries {
        job: name.to_owned(),
        rule_period_s,
        busy_cpus: Some(1.0),
        ticks: (1..=200).map(tick).collect(),
        ..JobSeries::default()
    };
    let phase = PhaseTrial {
        seconds: 2.0,
        jobs: vec![job("sleeper", period_s), job("other", None)],
        ..PhaseTrial::default()
    };
    let trial = |trial| PointTrial {
        trial,
        phases: vec![phase.clone(), phase.clone()],
        ..PointTrial::default()
    };
    let points = [Point {
        trials: (0..3).map(trial).collect(),
        ..Point::default()
    }];
    let scope = ClaimScope {
        windows: vec![window],
        phases: vec!["first".to_owned(), "second".to_owned()],
        lengths_s: vec![2.0, 2.0],
        jobs: vec!["sleeper".to_owned(), "other".to_owned()],
        figures: crate::claim::eval::FIGURES.map(str::to_owned).to_vec(),
        ..ClaimScope::default()
    };
    let run = JudgedRun {
        points: &points,
        scale: 0.045,
        trials: 3,
        model_error: None,
    };
    let mut claim = claim(&[text]);
    claim.context.phase = Some(phase_name.to_owned());
    scope.check(&claim.expects[0], &claim.context).unwrap();
    judge_claim(&claim, &scope, &run)
}

fn start(from_s: f64, to_s: Option<f64>) -> Window {
    Window {
        name: "start".to_owned(),
        from_s,
        to_s,
    }
}

#[test]
fn a_window_of_fewer_than_three_periods_of_the_rule_is_not_judged() {
    let (period, short) = (Some(0.1), start(0.0, Some(0.09)));
    let result = with_rule("second", short, "start.miss_rate > 0.1", period);
    assert_eq!(result.verdict, CannotJudge);
    assert_eq!(result.expects[0].verdict, CannotJudge);
    // The measured figures are shown all the same.
    assert_eq!(result.expects[0].measured.unwrap().median, 0.5);
    let Reason::ShortWindow(short) = &result.reasons[0] else {
        panic!("{:?}", result.reasons);
    };
    assert_eq!(short.figure, "start.miss_rate");
    assert_eq!((short.periods, short.present_s), (3, 0.09));
    assert_eq!(short.scale, 0.045);
    assert!((short.needed_s - 0.3).abs() < 1e-9);

    for (from, to, text, period, wanted) in [
        // Three periods suffice, and other forms of the figure follow the same rule.
        (0.0, Some(0.3), "start.miss_rate > 0.1", period, Holds),
        (
            0.0,
            Some(0.2),
            "highest(start.iops) > 0",
            period,
            CannotJudge,
        ),
        (0.0, Some(0.2), "1 - start.iops < 0", period, CannotJudge),
        // IOPS depend on the sleep, too.
        (0.0, Some(0.2), "start.iops > 0", period, CannotJudge),
        (0.0, Some(0.2), "1 < start.iops", period, CannotJudge),
        // An open window ends with its phase.
        (1.8, None, "start.iops > 0", period, CannotJudge),
        (1.5, None, "start.iops > 0", period, Holds),
        // The whole phase has 20 periods, and so have figures that always cover the whole phase.
        (0.0, Some(0.2), "iops > 0", period, Holds),
        (0.0, Some(0.2), "start.kiops_per_core > 0", period, Holds),
        // A slow rule does not settle within the whole phase.
        (0.0, Some(0.2), "iops > 0", Some(1.0), CannotJudge),
        // Without a rule nothing has to settle.
        (0.0, Some(0.2), "start.iops > 0", None, Holds),
        (0.0, Some(0.2), "other.start.iops > 0", period, Holds),
    ] {
        let verdict = with_rule("second", start(from, to), text, period).verdict;
        assert_eq!(verdict, wanted, "{from} {to:?} {text}");
    }
}

/// In the first phase the rule needs two periods to start, and three must follow.
#[test]
fn the_begin_of_a_rule_does_not_count() {
    let first = |from_s: f64, to_s: f64| {
        let window = start(from_s, Some(to_s));
        with_rule("first", window, "start.miss_rate > 0.1", Some(0.1))
    };
    for (from, to, wanted) in [
        (0.0, 0.49, CannotJudge),
        (0.0, 0.5, Holds),
        (0.1, 0.45, CannotJudge),
        (0.1, 0.5, Holds),
        (0.2, 0.5, Holds),
        (1.0, 1.3, Holds),
    ] {
        assert_eq!(first(from, to).verdict, wanted, "{from} {to}");
    }
    let result = first(0.1, 0.45);
    let Reason::ShortWindow(short) = &result.reasons[0] else {
        panic!("{:?}", result.reasons);
    };
    assert!((short.starting_s - 0.1).abs() < 1e-9, "{short:?}");
    assert!((short.needed_s - 0.4).abs() < 1e-9, "{short:?}");
    assert!((short.present_s - 0.35).abs() < 1e-9, "{short:?}");
}

#[test]
fn a_missing_figure_is_named() {
    let result = judge_points(&claim(&["y > 0"]), &points(&[1.0, 2.0, 3.0]));
    assert_eq!(result.verdict, CannotJudge);
    let [Reason::Missing(MissingFigure { figure, .. })] = &result.reasons[..] else {
        panic!("{:?}", result.reasons);
    };
    assert_eq!(figure, "y");
}

/// A tiny second implementation: compares the interval `[least, largest]` with `[low, high]`.
fn by_intervals(values: &[f64], low: f64, high: f64) -> ReproduceVerdict {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (
        low <= least && largest <= high,
        largest < low || high < least,
    ) {
        (true, _) => Holds,
        (_, true) => DoesNotHold,
        _ => Undecided,
    }
}

proptest! {
    #[test]
    fn verdicts_are_those_of_intervals(
        values in prop::collection::vec(-8i32..8, 3..9), middle in -8i32..8, within in 0i32..6,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let (middle, within) = (f64::from(middle), f64::from(within));
        let text = |template: &str| {
            let text = template.replace('M', &format!("({middle})"));
            text.replace('W', &within.to_string())
        };
        for (claim, low, high) in [
            ("x ~ M +- W", middle - within, middle + within),
            ("x >= M", middle, f64::INFINITY),
            ("x <= M", f64::NEG_INFINITY, middle),
        ] {
            let wanted = by_intervals(&values, low, high);
            prop_assert_eq!(verdict_of(&text(claim), &values), wanted, "{} {:?}", claim, values);
        }
    }

    #[test]
    fn the_opposite_claim_has_the_opposite_verdict(
        values in prop::collection::vec(-9i32..9, 3..9), edge in -9i32..9,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let above = verdict_of(&format!("x > ({edge})"), &values);
        let below = verdict_of(&format!("x <= ({edge})"), &values);
        let opposite = match above {
            Holds => DoesNotHold,
            DoesNotHold => Holds,
            other => other,
        };
        prop_assert_eq!(below, opposite);
    }

    #[test]
    fn order_of_trials_means_nothing(mut values in prop::collection::vec(-9i32..9, 3..9)) {
        let as_is: Vec<f64> = values.iter().copied().map(f64::from).collect();
        values.reverse();
        let turned: Vec<f64> = values.into_iter().map(f64::from).collect();
        prop_assert_eq!(verdict_of("x > 0", &as_is), verdict_of("x > 0", &turned));
    }
}

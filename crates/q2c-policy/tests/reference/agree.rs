//! Both implementations, the same I/O, the same sleeps.

use super::closed_loop::{Crate, Request, Ride, Subject, reads, run};
use super::epochs::{Epochs, Statistic};
use super::latencies::{mixed, synthetic, zssd};
use super::pas::Pas;
use super::uring::Uring;

const WAKE_DELAY: u64 = 2_000;

struct Case {
    name: String,
    lanes: usize,
    streams: Vec<Vec<Request>>,
}

/// One I/O at a time over every trace; mixed I/O over one and three lanes, alone and four deep.
fn cases() -> Vec<Case> {
    let public = zssd().map(|times| ("zssd", times.repeat(5)));
    let alone = |(name, times): (&str, Vec<u64>)| Case {
        name: name.to_owned(),
        lanes: 1,
        streams: vec![reads(times)],
    };
    let together = |(lanes, depth)| Case {
        name: format!("mixed, {lanes} lanes, depth {depth}"),
        lanes,
        streams: mixed(lanes * depth),
    };
    let traces = synthetic().into_iter().chain(public).map(alone);
    traces
        .chain([(1, 1), (1, 4), (3, 1), (3, 4)].map(together))
        .collect()
}

/// Rides of the crate's rule and of the second implementation must not differ by more than `tolerance` ns of sleep.
fn compare(cases: &[Case], spec: &str, tolerance: u64, second: impl Fn() -> Box<dyn Subject>) {
    for case in cases {
        let ride = |subject: &mut dyn Subject| -> Vec<Ride> {
            run(subject, case.lanes, &case.streams, WAKE_DELAY)
        };
        let ours = ride(&mut Crate::new(spec, case.lanes));
        let theirs = ride(&mut *second());
        assert_eq!(ours.len(), theirs.len());
        for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            let same = a.asked.abs_diff(b.asked) <= tolerance && a.missed == b.missed;
            assert!(
                same,
                "{spec} on {}, I/O {i}: {a:?}, expected {b:?}",
                case.name
            );
        }
        assert!(
            ours.iter().any(|r| r.asked > 0),
            "{spec} never slept on {}",
            case.name
        );
    }
}

#[test]
fn mean_equals_a_look_at_all_samples() {
    let cases = cases();
    for percent in [1, 3, 37, 50, 75, 100] {
        let second =
            || -> Box<dyn Subject> { Box::new(Epochs::new(Statistic::Mean, percent, 200_000)) };
        compare(&cases, &format!("mean:{percent}%,200us"), 0, second);
    }
}

#[test]
fn min_equals_a_look_at_all_samples() {
    let cases = cases();
    for (percent, period) in [(70, 200_000), (50, 1_000), (100, 50_000)] {
        let second =
            || -> Box<dyn Subject> { Box::new(Epochs::new(Statistic::Min, percent, period)) };
        compare(&cases, &format!("min:{percent}%,{period}ns"), 0, second);
    }
}

/// A formula counts in binary fractions: a nanosecond may go to either side.
#[test]
fn formulas_equal_a_look_at_all_samples() {
    let cases = cases();
    for (formula, statistic, percent) in [
        ("mean / 2", Statistic::Mean, 50),
        (
            "if(misses > count, 1s, min(mean, max) * 3%)",
            Statistic::Mean,
            3,
        ),
        ("0.7 * min", Statistic::Min, 70),
    ] {
        let second = || -> Box<dyn Subject> { Box::new(Epochs::new(statistic, percent, 200_000)) };
        compare(&cases, &format!("rule:period=200us,{formula}"), 1, second);
    }
}

/// The two count in binary and in decimal fractions: a nanosecond may go to either side, an outcome not.
#[test]
fn pas_equals_decimal_fixed_point() {
    let cases = cases();
    compare(&cases, "pas:adaptive=off", 1, || Box::new(Pas::new(false)));
    compare(&cases, "pas", 1, || Box::new(Pas::new(true)));
}

#[test]
fn uring_equals_the_least_of_all_run_times() {
    compare(&cases(), "uring", 0, || Box::<Uring>::default());
}

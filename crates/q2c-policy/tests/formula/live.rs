//! A formula as a rule: each name gives its statistic over all lanes, for each bucket.

use q2c_model::{Direction, Nanos};
use q2c_policy::{Decision, FormulaCounts, Io, Outcome, PolicySpec, Token};

const READ: Io = Io::READ_4K;
const WRITE: Io = Io {
    direction: Direction::Write,
    ..READ
};

/// The completions of two windows of 1 ms: lane, I/O, observed time in us, missed. The second
/// window of reads has the mean 25, and a left mean deviation of (18 + 8 + 14) / 4 = 10 from the
/// first one's mean of 30.
const FIRST: [(usize, Io, u64, bool); 4] = [
    (0, READ, 10, false),
    (1, READ, 20, true),
    (0, READ, 60, true),
    (0, WRITE, 500, false),
];
const SECOND: [(usize, Io, u64, bool); 4] = [
    (1, READ, 12, true),
    (0, READ, 22, false),
    (1, READ, 50, true),
    (0, READ, 16, true),
];

fn run_formula(formula: &str) -> (PolicySpec, [Decision; 2]) {
    let text = format!("rule:period=1ms,{formula}");
    let spec: PolicySpec = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut lanes = spec.build(2);
    for (start, window) in [(0, FIRST), (2_000_000, SECOND)] {
        for (now, (lane, io, us, missed)) in (start..).step_by(1_000).zip(window) {
            let observed = Nanos::from_micros(us);
            let outcome = Outcome { observed, missed };
            lanes[lane].complete(io, Token::default(), outcome, Nanos(now));
        }
    }
    let asked = [READ, WRITE].map(|io| lanes[1].decide(io, Nanos(4_000_000)).0);
    (spec, asked)
}

fn micros(formula: &str) -> f64 {
    match run_formula(formula).1[0] {
        Decision::Sleep(time) => time.as_micros_f64(),
        other => panic!("{formula}: {other:?}"),
    }
}

#[test]
fn every_name_is_its_statistic() {
    for (formula, us) in [
        ("count * 1us", 4.0),
        ("mean", 25.0),
        ("min", 12.0),
        ("max", 50.0),
        ("last", 16.0),
        ("lmd", 10.0),
        ("misses * 1us", 3.0),
        ("mean - 2 * lmd", 5.0),
    ] {
        assert_eq!(micros(formula), us, "{formula}");
    }
    // Percentiles are nearest ranks; their bins allow an error of 0.8 %.
    for (formula, us) in [
        ("p01", 12.0),
        ("p25", 12.0),
        ("p26", 16.0),
        ("p75", 22.0),
        ("p76", 50.0),
        ("p99", 50.0),
    ] {
        let got = micros(formula);
        let near = (got / us - 1.0).abs() <= 0.008;
        assert!(near, "{formula}: {got}, expected {us}");
    }
}

#[test]
fn buckets_are_apart() {
    let (_, [read, write]) = run_formula("max");
    assert_eq!(read, Decision::Sleep(Nanos(50_000)));
    assert_eq!(write, Decision::Sleep(Nanos(500_000)));
}

#[test]
fn what_is_no_time_polls_and_is_counted() {
    let tally = |windows, negative, undefined| {
        Some(FormulaCounts {
            windows,
            negative,
            undefined,
        })
    };
    // For the write the formula is 500 us / 0 misses.
    let (spec, [read, write]) = run_formula("mean / misses");
    assert!(matches!(read, Decision::Sleep(_)));
    assert_eq!(write, Decision::Poll);
    assert_eq!(spec.tally(), tally(3, 0, 1));
    // The windows give 30 - 40, 500 - 40 and 25 - 40 us.
    let (spec, [read, write]) = run_formula("mean - 40us");
    assert_eq!(read, Decision::Poll);
    assert_eq!(write, Decision::Sleep(Nanos(460_000)));
    assert_eq!(spec.tally(), tally(3, 2, 0));
    assert_eq!(spec.clone().tally(), spec.tally());
    let changed = spec.with_param("period", 5e6).expect("5 ms");
    assert_eq!(changed.tally(), tally(0, 0, 0));
}

#[test]
fn a_sleep_is_bounded() {
    let longest = Decision::Sleep(q2c_policy::MAX_SLEEP);
    assert_eq!(run_formula("max * 1e9").1[0], longest);
    assert_eq!(run_formula("0").1[0], Decision::Poll);
    assert_eq!(run_formula("0.4ns").1[0], Decision::Poll);
}

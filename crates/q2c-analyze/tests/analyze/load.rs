//! Tests the bottleneck of a whole trace, by load and over time.

use crate::{analyze, span};
use q2c_trace::Span;

fn numbered(all: Vec<[i64; 5]>) -> Vec<Span> {
    (0..).zip(all).map(|(id, times)| span(id, times)).collect()
}

/// `jobs` jobs on a device of 100 us; each I/O first waits for one of `tags` requests.
fn queue(tags: usize, jobs: usize, ios_per_job: usize) -> Vec<Span> {
    let service = 100_000;
    let mut free_at = vec![0i64; tags];
    let mut ready_at = vec![0i64; jobs];
    let mut spans = Vec::new();
    for _ in 0..ios_per_job {
        for at in &mut ready_at {
            let tag = free_at.iter_mut().min().expect("at least one tag");
            let getrq = (*at + 500).max(*tag);
            let complete = getrq + 1_000 + service;
            spans.push([*at, getrq, -1, getrq + 1_000, complete]);
            (*tag, *at) = (complete, complete + 2_000);
        }
    }
    spans.sort_unstable();
    numbered(spans)
}

#[test]
fn too_few_tags_are_named_and_enough_are_not() {
    let few = analyze(&queue(4, 8, 200)).bottleneck.unwrap();
    assert_eq!(few.stage, "Q2G");
    assert!(few.why.contains("nr_requests"), "{}", few.why);
    let enough = analyze(&queue(128, 8, 200)).bottleneck.unwrap();
    assert_eq!(enough.stage, "D2C");
    // Of 101 500 ns, 500 + 1000 are spent before the driver.
    assert!((enough.shares["D2C"] - 100_000.0 / 101_500.0).abs() < 1e-9);
}

#[test]
fn shares_add_up_and_what_is_not_known_is_the_rest() {
    let result = analyze(&[
        span(0, [0, 100, 250, 400, 1000]),
        span(1, [0, -1, -1, -1, 1000]),
    ]);
    let bottleneck = result.bottleneck.unwrap();
    assert_eq!(bottleneck.shares["Q2G"], 0.05);
    assert_eq!(bottleneck.shares["G2I"], 0.075);
    assert_eq!(bottleneck.shares["I2D"], 0.075);
    assert_eq!(bottleneck.shares["D2C"], 0.3);
    assert_eq!(bottleneck.shares["rest"], 0.5);
    assert_eq!(bottleneck.stage, "rest");
}

#[test]
fn over_load_the_stage_changes() {
    // An I/O alone spends its time in the device; sixteen at once wait for their requests.
    let mut spans = Vec::new();
    for n in 0..10 {
        let at = n * 1_000_000;
        spans.push([at, at, -1, at, at + 100]);
        spans.extend([[at + 1000, at + 1900, -1, at + 1900, at + 2000]; 16]);
    }
    let bottleneck = analyze(&numbered(spans)).bottleneck.unwrap();
    let classes = bottleneck.over_load.iter();
    let classes: Vec<_> = classes.map(|c| (c.from, c.to, c.requests)).collect();
    assert_eq!(classes[..3], [(1, 1, 20), (2, 3, 20), (4, 7, 40)]);
    assert_eq!(classes[3..], [(8, 15, 80), (16, 31, 10)]);
    assert_eq!(bottleneck.over_load[4].stage, "Q2G");
    assert_eq!(bottleneck.over_load[4].shares["Q2G"], 0.9);
    assert_eq!(bottleneck.over_load[4].mean_q2c_ns, 1000.0);
}

#[test]
fn over_time_windows_stay_few() {
    let begin = |n: i64| n * 37_000_000;
    let times = (0..5000).map(begin).map(|at| [at, -1, -1, at + 1, at + 10]);
    let bottleneck = analyze(&numbered(times.collect())).bottleneck.unwrap();
    let windows = bottleneck.over_time;
    assert!((128..=512).contains(&windows.len()), "{}", windows.len());
    let sum: u64 = windows.iter().map(|w| w.requests).sum();
    assert_eq!(sum, 5000);
    for window in &windows {
        let range = window.start_ns..window.start_ns + window.length_ns;
        let within = (0..5000).filter(|n| range.contains(&(begin(*n) as u64)));
        assert_eq!(window.requests, within.count() as u64, "{range:?}");
    }
}

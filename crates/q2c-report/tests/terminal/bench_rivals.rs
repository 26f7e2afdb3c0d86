//! Tests that the headlines of a benchmark agree with its table: which points are compared, where,
//! and which ones the trials tell apart.

use crate::{PIPE, fixture};
use q2c_model::stats::Interval;
use q2c_report::Reported;
use q2c_result::bench::{BenchCell, BenchResult};

/// Interface, method, jobs and depth of a point, then its KIOPS and its KIOPS/core, each as median,
/// minimum and maximum.
type RivalPoint = (&'static str, &'static str, u32, u16, [f64; 3], [f64; 3]);

/// A real run on a virtual disk.
#[rustfmt::skip]
const REAL: [RivalPoint; 16] = [
    ("libaio", "interrupt", 1, 1, [16.4, 14.9, 19.7], [33.9, 29.3, 36.4]),
    ("libaio", "interrupt", 2, 1, [23.6, 23.0, 27.0], [32.9, 31.5, 42.2]),
    ("libaio", "poll", 1, 1, [25.4, 24.0, 28.3], [25.4, 24.0, 28.3]),
    ("libaio", "poll", 2, 1, [38.4, 34.4, 44.1], [19.4, 17.3, 22.2]),
    ("io_uring", "interrupt", 1, 1, [15.9, 15.2, 17.4], [34.1, 27.2, 35.3]),
    ("io_uring", "interrupt", 2, 1, [24.3, 20.0, 24.4], [35.4, 30.7, 38.5]),
    ("io_uring", "poll", 1, 1, [24.7, 22.3, 29.8], [24.7, 22.3, 29.8]),
    ("io_uring", "poll", 2, 1, [36.3, 35.7, 38.5], [18.3, 18.0, 19.4]),
    ("libaio", "interrupt", 1, 8, [50.9, 50.5, 65.9], [99.1, 96.1, 129.3]),
    ("libaio", "interrupt", 2, 8, [65.6, 63.5, 70.3], [99.4, 87.1, 105.0]),
    ("libaio", "poll", 1, 8, [65.2, 63.7, 69.3], [65.2, 63.7, 69.3]),
    ("libaio", "poll", 2, 8, [81.0, 80.7, 90.7], [40.8, 40.7, 45.6]),
    ("io_uring", "interrupt", 1, 8, [58.0, 58.0, 62.9], [125.9, 121.0, 145.1]),
    ("io_uring", "interrupt", 2, 8, [66.4, 64.3, 72.1], [123.8, 99.2, 133.4]),
    ("io_uring", "poll", 1, 8, [71.9, 71.6, 75.0], [72.0, 72.0, 75.0]),
    ("io_uring", "poll", 2, 8, [71.3, 69.5, 89.7], [35.9, 35.0, 45.2]),
];

fn interval([median, min, max]: [f64; 3], scale: f64, trials: u32) -> Interval {
    Interval {
        median: median * scale,
        min: min * scale,
        max: max * scale,
        trials,
    }
}

/// The real run, as if each of its points had this number of trials.
fn real(trials: u32) -> BenchResult {
    let mut result = fixture::bench();
    let base = result.cells[0].clone();
    let cell = |(engine, method, jobs, depth, kiops, per_core): RivalPoint| {
        let mut cell: BenchCell = base.clone();
        cell.point.engine = engine.to_owned();
        cell.point.method = method.parse().expect("a method");
        (cell.point.jobs, cell.point.depth) = (jobs, depth);
        cell.iops = interval(kiops, 1e3, trials);
        cell.kiops_per_core = interval(per_core, 1.0, trials);
        cell
    };
    result.cells = REAL.map(cell).to_vec();
    result.scaling.clear();
    result.warnings.clear();
    result
}

/// The text with each run of white space replaced by one blank.
fn text(result: &BenchResult) -> String {
    let text = result.document().text(PIPE);
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The strongest other line at the same point overlaps, although the strongest line at another
/// number of jobs does not.
#[test]
fn the_first_is_set_against_its_rivals_at_its_own_point_and_at_theirs() {
    let text = text(&real(5));
    for words in [
        "depth 8: libaio poll has the highest median: 81.0 K IOPS with 2 jobs, 1.14 times \
         io_uring poll (not clearly) · Next there: io_uring poll with 2 jobs, 71.3 KIOPS \
         [69.5, 89.7] against 81.0 KIOPS [80.7, 90.7]. Their trials overlap · Best of the others: \
         io_uring poll with 1 job, 71.9 KIOPS [71.6, 75.0] against 81.0 KIOPS [80.7, 90.7]. All trials \
         of the first are above all of these ▸",
        "depth 8: io_uring interrupt has the highest median: 126 KIOPS/core with 1 job, 1.27 \
         times libaio interrupt (not clearly)",
        "libaio poll with 2 jobs, first in IOPS, has 40.8 KIOPS/core [40.7, 45.6]",
        // The best rival has as many jobs, so it is named once.
        "Next there: io_uring poll with 2 jobs, 36.3 KIOPS [35.7, 38.5] against 38.4 KIOPS \
         [34.4, 44.1]. Their trials overlap ▸",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

/// With three trials of each of two equal methods, chance puts all of one above all of the other
/// in 2 of 20 orders.
#[test]
fn few_trials_are_told_beside_what_they_tell() {
    let few = text(&real(3));
    let chance = "All trials of the first are above all of these, but with so few that happens by \
                  chance in 10 % of cases";
    assert!(few.contains(chance), "{few}");
    let lead = "lead: trials are few: two equal methods come apart like this in 10 % of the cases; \
                with 4 trials in 3 %";
    assert!(few.contains(lead), "{few}");
    let enough = text(&real(4));
    assert!(
        !enough.contains("chance") && !enough.contains("trials are few"),
        "{enough}"
    );
}

/// A point with a lower median can overlap even if the next one does not.
#[test]
fn the_best_is_not_told_apart_while_any_other_overlaps() {
    let mut result = real(5);
    let at = |result: &BenchResult, engine: &str, method: &str, jobs: u32| {
        let position = result.cells.iter().position(|cell| {
            let point = &cell.point;
            (
                point.engine.as_str(),
                point.method.name(),
                point.jobs,
                point.depth,
            ) == (engine, method, jobs, 8)
        });
        position.unwrap()
    };
    let rival = at(&result, "io_uring", "poll", 2);
    result.cells[rival].iops.max = 75e3;
    let report = text(&result);
    assert!(
        report.contains("libaio poll is fastest: 81.0 K IOPS"),
        "{report}"
    );
    let weak = at(&result, "libaio", "interrupt", 2);
    result.cells[weak].iops.max = 95e3;
    let report = text(&result);
    assert!(
        report.contains("libaio poll has the highest median: 81.0"),
        "{report}"
    );
    let either = "Not told apart from libaio interrupt with 2 jobs either, 65.6 KIOPS [63.5, 95.0]";
    assert!(report.contains(either), "{report}");
}

#[test]
fn leads_are_told_where_they_hold() {
    let mut result = real(5);
    let report = text(&result);
    for words in [
        "lead: IOPS, all interfaces: io_uring poll leads at 1 job x depth 8; at 1-2 jobs x depth 1 and \
         2 jobs x depth 8, libaio poll has most, not told apart from io_uring poll",
        "lead: IOPS, libaio: poll leads at 1-2 jobs x depth 1 and 2 jobs x depth 8; at 1 job x depth 8, \
         poll has most, not told apart from interrupt",
        "lead: KIOPS/core, libaio: interrupt leads at every point",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    assert!(!report.contains("no method leads"), "{report}");
    // A cell that did not run as asked neither leads nor comes first.
    result.cells[11].effective_mode.mode.note = Some(q2c_result::mode::ModeNote::PollIgnored);
    let report = text(&result);
    let missing = "at 2 jobs x depth 8, io_uring poll has most, not told apart from libaio interrupt \
                   and io_uring interrupt (not compared there: libaio poll)";
    assert!(report.contains(missing), "{missing}\n{report}");
    assert!(!report.contains("81.0 K IOPS"), "{report}");
}

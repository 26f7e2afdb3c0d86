//! Tests the CSV by reading it as other programs do.

mod fixture;
#[path = "fixture/tune_jobs.rs"]
mod tune_jobs_fixture;

use q2c_result::figures::Measures;
use q2c_result::role::CellRole;
use std::collections::HashMap;

type CsvRow = HashMap<String, String>;

fn rows(result: &impl Measures) -> Vec<CsvRow> {
    let text = q2c_report::csv(&result.figures()).expect("make the CSV");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Result<Vec<CsvRow>, csv::Error> = reader.deserialize().collect();
    rows.expect("even rows")
}

/// The texts of some columns.
fn texts<'a, const N: usize>(row: &'a CsvRow, names: [&str; N]) -> [&'a str; N] {
    names.map(|name| row[name].as_str())
}

/// Asserts that columns have these numbers, up to a share of them.
fn assert_numbers(row: &CsvRow, share: f64, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let number: f64 = row[*name].parse().expect(name);
        assert!((number / expected - 1.0).abs() < share, "{name}: {number}");
    }
}

#[test]
fn a_row_holds_the_cells_numbers() {
    let rows = rows(&fixture::tune());
    assert_eq!(rows.len(), 14);
    let row = &rows[4];
    let text = texts(row, ["bs_bytes", "method", "policy", "role", "trials"]);
    let wanted = ["4096", "hybrid", "min:ratio=85%,period=10ms", "robust", "5"];
    assert_eq!(text, wanted);
    // The fixture's row has 12.11 KIOPS; the lowest trial is 1.4 % below, the prediction 0.4 %
    // above.
    let numbers = [
        ("iops", 12_110.0),
        ("iops_min", 11_940.46),
        ("predicted_iops", 12_158.44),
        // Polling has 12.31 KIOPS and 12.2 KIOPS/core, this row 12.11 and 27.2.
        ("relative_iops", 12.11 / 12.31),
        ("relative_kiops_per_core", 27.2 / 12.2),
        ("miss_rate", 0.0062),
        ("p999_ns", 361_000.0),
    ];
    assert_numbers(row, 1e-9, &numbers);
}

#[test]
fn what_was_not_measured_is_empty() {
    let poll = &rows(&fixture::tune())[1];
    let measured = texts(poll, ["method", "miss_rate", "slept_ns_max"]);
    assert_eq!(measured, ["poll", "", ""]);
    let predicted = texts(poll, ["predicted_iops", "predicted_first_p99_ns"]);
    assert_eq!(predicted, ["", ""]);
}

#[test]
fn commas_quotes_and_line_feeds_stay_in_their_field() {
    let mut result = fixture::tune_hostile();
    result.cells[0].role = CellRole::Other("a,\"b\"\nc".into());
    let rows = rows(&result);
    assert_eq!(rows[0]["role"], "a,\"b\"\nc");
    assert_eq!(rows[5]["policy"], result.cells[5].method.detail());
}

#[test]
fn a_trial_of_a_replay_is_a_row() {
    let rows = rows(&fixture::replay_saturated());
    assert_eq!(rows.len(), 3);
    let column = |name: &str| -> Vec<&str> { rows.iter().map(|row| row[name].as_str()).collect() };
    assert_eq!(column("trial"), ["1", "2", "3"]);
    assert_eq!(column("completion_s"), ["71.2", "70.4", "72.9"]);
    assert_eq!(column("valid"), ["true", "true", "false"]);
    assert_eq!(column("own_lateness_p99_ns"), ["17000", "17000", "2400000"]);
    // Nothing was captured, so these fields are empty.
    let of_capture = ["sum_q2c_s", "q2c_source", "q2c_ios", "q2c_lost"];
    for name in of_capture.into_iter().chain(["q2c_p50_ns"]) {
        assert_eq!(column(name), ["", "", ""], "{name}");
    }
    assert!(rows[0]["first_error"].ends_with(fixture::RAN));
}

/// Polling at 4 KiB has 12.31 KIOPS with 1 job, and twice as many with 4.
#[test]
fn rows_over_jobs_have_the_number_of_jobs_in_front() {
    let result = tune_jobs_fixture::over_jobs(&fixture::tune());
    let text = q2c_report::csv(&result.figures()).expect("make the CSV");
    assert!(text.starts_with("jobs,bs_bytes,method,"), "{text}");
    let rows = rows(&result);
    assert_eq!(rows.len(), 3 * 14);
    for (row, jobs, iops) in [(1, "1", 12_310.0), (29, "4", 24_620.0)] {
        assert_eq!(texts(&rows[row], ["jobs", "method"]), [jobs, "poll"]);
        assert_numbers(&rows[row], 1e-9, &[("iops", iops)]);
    }
}

/// The fixture's point of 18 jobs: 18 us in I2D of 79.5 us; p50 is 0.9 of the mean, p99 twice.
#[test]
fn the_stages_of_a_benchmark_are_columns() {
    let rows = rows(&fixture::bench_stages());
    let row = |name: &str, text: &str| rows.iter().find(|row| row[name] == text).expect("a row");
    let staged = row("jobs", "18");
    let expected = [
        ("bottleneck_share", 18.0 / 79.5),
        ("i2d_mean_ns", 18_000.0),
        ("i2d_p50_ns", 16_200.0),
        ("d2c_p99_ns", 120_000.0),
        ("q2c_mean_ns", 79_500.0),
    ];
    assert_numbers(staged, 1e-9, &expected);
    // There is no scheduler-less stage here, and the points of libaio have no stages at all.
    let names = ["engine", "bottleneck", "g2d_mean_ns"];
    assert_eq!(texts(staged, names), ["io_uring", "I2D", ""]);
    let names = ["bottleneck", "bottleneck_share", "q2c_mean_ns"];
    assert_eq!(texts(row("engine", "libaio"), names), ["", "", ""]);
}

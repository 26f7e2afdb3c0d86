//! Tests the CSV by reading it as another program does.

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

fn texts<'a, const N: usize>(row: &'a CsvRow, names: [&str; N]) -> [&'a str; N] {
    names.map(|name| row[name].as_str())
}

/// Asserts that columns have these numbers, within a relative error.
fn assert_numbers(row: &CsvRow, error: f64, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let number: f64 = row[*name].parse().expect(name);
        assert!((number / expected - 1.0).abs() < error, "{name}: {number}");
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
fn commas_quotes_and_line_feeds_stay_in_their_field() {
    let mut result = fixture::tune_hostile();
    result.cells[0].role = CellRole::Other("a,\"b\"\nc".into());
    let rows = rows(&result);
    assert_eq!(rows[0]["role"], "a,\"b\"\nc");
    assert_eq!(rows[5]["policy"], result.cells[5].method.detail());
}

/// At 4 KiB, polling reaches 12.31 KIOPS with 1 job and twice that with 4.
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

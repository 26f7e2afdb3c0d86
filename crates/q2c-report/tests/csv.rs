//! The CSV as other programs read it.

mod fixture;

use csv::StringRecord;
use q2c_result::tune::TuneResult;
use std::collections::HashMap;

fn rows(result: &TuneResult) -> Vec<HashMap<String, String>> {
    let text = q2c_report::csv::cells(result).expect("make the CSV");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<StringRecord> = reader
        .records()
        .collect::<Result<_, _>>()
        .expect("even rows");
    let head = reader.headers().expect("a head").clone();
    let row = |record: &StringRecord| {
        let fields = head
            .iter()
            .zip(record)
            .map(|(name, field)| (name.to_owned(), field.to_owned()));
        fields.collect()
    };
    records.iter().map(row).collect()
}

#[test]
fn a_row_holds_the_cells_numbers() {
    let rows = rows(&fixture::realistic());
    assert_eq!(rows.len(), 14);
    let row = &rows[4];
    let text = ["bs_bytes", "method", "policy", "role", "trials"].map(|name| row[name].as_str());
    assert_eq!(
        text,
        ["4096", "hybrid", "min:ratio=85%,period=10ms", "chosen", "5"]
    );
    // The fixture's row: 12.11 KIOPS, the lowest trial 1.4 % below; predicted 0.4 % above.
    let numbers = [
        ("iops_median", 12_110.0),
        ("iops_min", 11_940.46),
        ("predicted_iops", 12_158.44),
        ("miss_rate_median", 0.0062),
        ("p999_ns_median", 361_000.0),
    ];
    for (name, expected) in numbers {
        let number: f64 = row[name].parse().expect(name);
        assert!((number / expected - 1.0).abs() < 1e-9, "{name}: {number}");
    }
}

#[test]
fn what_was_not_measured_is_empty() {
    let rows = rows(&fixture::realistic());
    let poll = &rows[1];
    assert_eq!(poll["method"], "poll");
    for name in [
        "miss_rate_median",
        "slept_ns_max",
        "predicted_iops",
        "predicted_first_p99_ns",
    ] {
        assert_eq!(poll[name], "", "{name}");
    }
}

#[test]
fn commas_quotes_and_line_feeds_stay_in_their_field() {
    let mut result = fixture::hostile();
    result.cells[0].role = "a,\"b\"\nc".into();
    let rows = rows(&result);
    assert_eq!(rows[0]["role"], "a,\"b\"\nc");
    assert_eq!(rows[5]["policy"], result.cells[5].policy);
}

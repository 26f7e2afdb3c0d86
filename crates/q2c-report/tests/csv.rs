//! Tests the CSV by reading it as other programs do.

mod fixture;
#[path = "fixture/tune_jobs.rs"]
mod tune_jobs_fixture;

use csv::StringRecord;
use q2c_result::figures::Measures;
use q2c_result::role::CellRole;
use q2c_result::tune::TuneResult;
use std::collections::HashMap;

fn rows(result: &TuneResult) -> Vec<HashMap<String, String>> {
    parsed(&q2c_report::csv(&result.figures()).expect("make the CSV"))
}

fn parsed(text: &str) -> Vec<HashMap<String, String>> {
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
    let rows = rows(&fixture::tune());
    assert_eq!(rows.len(), 14);
    let row = &rows[4];
    let text = ["bs_bytes", "method", "policy", "role", "trials"].map(|name| row[name].as_str());
    assert_eq!(
        text,
        ["4096", "hybrid", "min:ratio=85%,period=10ms", "robust", "5"]
    );
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
    for (name, expected) in numbers {
        let number: f64 = row[name].parse().expect(name);
        assert!((number / expected - 1.0).abs() < 1e-9, "{name}: {number}");
    }
}

#[test]
fn what_was_not_measured_is_empty() {
    let rows = rows(&fixture::tune());
    let poll = &rows[1];
    assert_eq!(poll["method"], "poll");
    for name in [
        "miss_rate",
        "slept_ns_max",
        "predicted_iops",
        "predicted_first_p99_ns",
    ] {
        assert_eq!(poll[name], "", "{name}");
    }
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
    let text = q2c_report::csv(&fixture::replay_saturated().figures()).expect("make the CSV");
    let rows = parsed(&text);
    assert_eq!(rows.len(), 3);
    let column = |name: &str| -> Vec<&str> { rows.iter().map(|row| row[name].as_str()).collect() };
    assert_eq!(column("trial"), ["1", "2", "3"]);
    assert_eq!(column("completion_s"), ["71.2", "70.4", "72.9"]);
    assert_eq!(column("valid"), ["true", "true", "false"]);
    assert_eq!(column("own_lateness_p99_ns"), ["17000", "17000", "2400000"]);
    // Nothing was captured, so these fields are empty.
    for name in [
        "sum_q2c_s",
        "q2c_source",
        "q2c_ios",
        "q2c_lost",
        "q2c_p50_ns",
    ] {
        assert_eq!(column(name), ["", "", ""], "{name}");
    }
    assert!(rows[0]["first_error"].ends_with(fixture::RAN));
}

#[test]
fn a_trial_of_each_compared_device_is_a_row() {
    let text = q2c_report::csv(&fixture::compare().figures()).expect("make the CSV");
    let rows = parsed(&text);
    assert_eq!(rows.len(), 10);
    let (last, first) = (&rows[9], &rows[0]);
    assert_eq!(
        [&last["device"], &last["trial"], &last["valid"]],
        ["/dev/zram0", "5", "false"]
    );
    let number = |name: &str| first[name].parse::<f64>().expect(name);
    // 24 780 requests of 90 us, 5 us less in the block layer; the median of an exponential
    // distribution is its mean x ln 2.
    for (name, expected) in [
        ("sum_u2c_s", 2.2302),
        ("sum_q2c_s", 2.1063),
        ("p50_ns", 62_383.2),
    ] {
        assert!((number(name) / expected - 1.0).abs() < 1e-4, "{name}");
    }
}

/// 2 traces in 2 modes on 2 devices, with 5 trials each.
#[test]
fn rows_of_several_comparisons_name_trace_and_mode() {
    let text = q2c_report::csv(&fixture::compare_published().figures()).expect("make the CSV");
    let rows = parsed(&text);
    assert_eq!(rows.len(), 40);
    let key_of =
        |row: usize| ["trace", "mode", "device", "trial"].map(|name| rows[row][name].as_str());
    assert_eq!(
        key_of(0),
        ["websearch.parquet", "timed", "/dev/nvme0n1", "1"]
    );
    assert_eq!(
        key_of(16),
        ["websearch.parquet", "outstanding", "/dev/zram0", "2"]
    );
    assert_eq!(
        key_of(39),
        ["tpcc.parquet", "outstanding", "/dev/zram0", "5"]
    );
}

#[test]
fn a_replay_of_one_trial_is_one_row() {
    let text = q2c_report::csv(&fixture::replay_outstanding().figures()).expect("make the CSV");
    let rows = parsed(&text);
    assert_eq!(rows.len(), 1);
    assert_eq!([&rows[0]["trial"], &rows[0]["completion_s"]], ["1", "1.09"]);
    assert_eq!(
        [&rows[0]["lateness_max_ns"], &rows[0]["end_drift_ns"]],
        ["0", "0"]
    );
}

/// Polling at 4 KiB has 12.31 KIOPS with 1 job, and twice as many with 4.
#[test]
fn rows_over_jobs_have_the_number_of_jobs_in_front() {
    let result = tune_jobs_fixture::over_jobs(&fixture::tune());
    let text = q2c_report::csv(&result.figures()).expect("make the CSV");
    assert!(text.starts_with("jobs,bs_bytes,method,"), "{text}");
    let rows = parsed(&text);
    assert_eq!(rows.len(), 3 * 14);
    for (row, jobs, iops) in [(1, "1", 12_310.0), (29, "4", 24_620.0)] {
        let row = &rows[row];
        assert_eq!(
            (row["jobs"].as_str(), row["method"].as_str()),
            (jobs, "poll")
        );
        let measured: f64 = row["iops"].parse().expect("a number");
        assert!((measured / iops - 1.0).abs() < 1e-9, "{measured}");
    }
}

/// The fixture's point of 18 jobs: 18 us in I2D of 79.5 us; p50 is 0.9 of the mean, p99 twice.
#[test]
fn the_stages_of_a_benchmark_are_columns() {
    let result = fixture::bench_stages();
    let rows = parsed(&q2c_report::csv(&result.figures()).expect("make the CSV"));
    let row = rows.iter().find(|row| row["jobs"] == "18").expect("a row");
    assert_eq!(
        (row["engine"].as_str(), row["bottleneck"].as_str()),
        ("io_uring", "I2D")
    );
    for (name, expected) in [
        ("bottleneck_share", 18.0 / 79.5),
        ("i2d_mean_ns", 18_000.0),
        ("i2d_p50_ns", 16_200.0),
        ("d2c_p99_ns", 120_000.0),
        ("q2c_mean_ns", 79_500.0),
    ] {
        let number: f64 = row[name].parse().expect(name);
        assert!((number / expected - 1.0).abs() < 1e-9, "{name}: {number}");
    }
    // There is no scheduler-less stage here, and the points of libaio have no stages at all.
    assert_eq!(row["g2d_mean_ns"], "");
    let bare = rows
        .iter()
        .find(|row| row["engine"] == "libaio")
        .expect("a row");
    for name in ["bottleneck", "bottleneck_share", "q2c_mean_ns"] {
        assert_eq!(bare[name], "", "{name}");
    }
}

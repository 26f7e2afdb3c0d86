//! The metrics of live views, read by an independent parser of the format.

use q2c_model::stats::Histogram;
use q2c_report::prometheus::{KernelMetrics, LiveMetrics, Metrics, WatchMetrics};
use q2c_result::analyze::StageStats;
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::live::{LatencyCounts, LiveInterval};
use q2c_result::watch::{WatchCounts, WatchInterval, WatchLine};
use q2c_testkit::{Samples, strict_metrics};

/// A histogram of the latencies 700 ns, 1 023 ns, 1 024 ns, 3 ms and 60 s.
fn latency() -> LatencyCounts {
    let mut histogram = Histogram::default();
    for ns in [700, 1_023, 1_024, 3_000_000, 60_000_000_000] {
        histogram.record(ns);
    }
    LatencyCounts::from(&histogram)
}

/// Checks the buckets of [`latency`], which was added `times` times: each counts exactly the I/Os
/// below its bound.
#[track_caller]
fn check_latency(page: &Samples, name: &str, times: f64) {
    let bucket = |le| page.value(&format!("{name}_bucket"), &[("le", le)]) / times;
    let short = ["0.000000511", "0.000000767", "0.000001023", "0.000001535"];
    assert_eq!(short.map(bucket), [0.0, 1.0, 2.0, 3.0]);
    let long = ["0.002097151", "0.003145727", "17.179869183", "+Inf"];
    assert_eq!(long.map(bucket), [3.0, 4.0, 4.0, 5.0]);
    let sum = page.value(&format!("{name}_sum"), &[]) / times;
    assert!((sum - 60.003_002_747).abs() < 1e-9, "{sum}");
}

#[test]
fn a_capture_adds_up_in_seconds() {
    let stage = |n, mean_ns| StageStats {
        n,
        mean_ns,
        ..StageStats::default()
    };
    let interval = LiveInterval {
        length_s: 0.5,
        ios: 5,
        bytes: 20_480,
        latency: latency(),
        stages: [("D2C", 2e9), ("Q2Q", 1.0)]
            .map(|(name, mean_ns)| (name.to_owned(), stage(4, mean_ns)))
            .into(),
        in_flight_now: Some(3),
        lost: 2,
        unqueued: 1,
        ..LiveInterval::default()
    };
    let mut metrics = LiveMetrics::new("dm-0 \"a\\b\"\nc");
    let empty = strict_metrics(&metrics.page());
    assert_eq!(empty.value("q2c_ios_total", &[]), 0.0);
    metrics.add(&interval);
    metrics.add(&interval);
    let page = strict_metrics(&metrics.page());
    check_latency(&page, "q2c_block_latency_seconds", 2.0);
    let value = |name| page.value(name, &[]);
    let totals = [
        "q2c_watched_seconds_total",
        "q2c_ios_total",
        "q2c_bytes_total",
    ];
    assert_eq!(totals.map(value), [1.0, 10.0, 40_960.0]);
    // These values are totals of the capture already.
    let of_capture = ["q2c_in_flight", "q2c_lost_total", "q2c_unqueued_total"].map(value);
    assert_eq!(of_capture, [3.0, 2.0, 1.0]);
    let d2c = [("stage", "D2C")];
    assert_eq!(page.value("q2c_stage_seconds_total", &d2c), 16.0);
    assert_eq!(page.value("q2c_stage_ios_total", &d2c), 8.0);
    assert_eq!(page.label_values("device"), [Some("dm-0 \"a\\b\"\nc")]);
    assert_eq!(page.label_values("stage"), [None, Some("D2C")]);
}

#[test]
fn a_watch_adds_up_in_seconds() {
    let line = WatchLine {
        method_name: Some("hybrid:min:70%,10ms".parse().unwrap()),
        background: Some(true),
        counts: WatchCounts {
            ios: 6,
            handled: 5,
            slept: 4,
            misses: 1,
            asked_ns: 80_000,
            slept_ns: 100_000,
            cpu_ns: 2_000_000_000,
            interrupts: Some(6),
            background_ios: Some(9),
        },
        latency: latency(),
        interval: WatchInterval {
            length_s: 0.25,
            ..WatchInterval::default()
        },
    };
    let mut metrics = WatchMetrics::new("/dev/nvme0n1");
    let empty = metrics.page();
    let is_silent = |word: &str| !empty.contains(word);
    assert!(
        ["interrupts", "background"].into_iter().all(is_silent),
        "{empty}"
    );
    assert_eq!(strict_metrics(&empty).value("q2c_ios_total", &[]), 0.0);
    metrics.add(&line);
    metrics.add(&WatchLine {
        counts: WatchCounts {
            interrupts: None,
            ..line.counts
        },
        ..line.clone()
    });
    metrics.add(&line);
    let page = strict_metrics(&metrics.page());
    check_latency(&page, "q2c_user_latency_seconds", 3.0);
    for (name, wanted) in [
        ("q2c_watched_seconds_total", 0.75),
        ("q2c_ios_total", 18.0),
        ("q2c_handled_total", 15.0),
        ("q2c_slept_total", 12.0),
        ("q2c_misses_total", 3.0),
        ("q2c_sleep_asked_seconds_total", 0.000_24),
        ("q2c_sleep_seconds_total", 0.000_3),
        ("q2c_cpu_seconds_total", 6.0),
        ("q2c_interrupts_total", 12.0),
        ("q2c_background_ios_total", 27.0),
    ] {
        let value = page.value(name, &[("device", "/dev/nvme0n1")]);
        assert_eq!(value, wanted, "{name}");
    }
    let method = [("method", "hybrid:min:ratio=70%,period=10ms")];
    assert_eq!(page.value("q2c_method_info", &method), 1.0);
}

#[test]
fn the_kernels_polling_adds_up() {
    let interval = KernelInterval {
        length_s: 1.0,
        polled: 100,
        slept: 90,
        missed: 9,
        unknown: 1,
        threads: 2,
        ..KernelInterval::default()
    };
    let mut metrics = KernelMetrics::new("nvme0n1");
    metrics.add(&interval);
    metrics.add(&interval);
    let page = strict_metrics(&metrics.page());
    let value = |name: &str| page.value(name, &[]);
    let names = ["polled", "slept", "misses", "unknown"];
    let values = names.map(|name| value(&format!("q2c_{name}_total")));
    assert_eq!(values, [200.0, 180.0, 18.0, 2.0]);
    assert_eq!(value("q2c_polling_threads"), 2.0);
}

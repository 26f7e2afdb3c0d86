//! The view of a running capture: snapshots, and a test that it fits any screen.

use proptest::prelude::*;
use q2c_model::stats::Histogram;
use q2c_report::terminal::{Screen, live};
use q2c_result::analyze::{Bottleneck, StageStats};
use q2c_result::live::{LatencyCounts, LiveInterval, ProcessIos};

const TITLE: &str = "recording nvme0n1 (259:0), the whole disk of nvme0n1p1 by bpf; ctrl-c ends it";

/// Interval number `n` of a load that rises and falls, with one stage of each kind and
/// `processes` processes.
fn interval(n: u64, processes: u64) -> LiveInterval {
    let load = 1 + n * 7 % 10;
    let stage = |ios: u64, ns: u64| StageStats {
        n: ios,
        mean_ns: ns as f64,
        p50_ns: ns as f64 * 0.9,
        p99_ns: ns as f64 * 3.0,
        max_ns: ns * 5,
        ..StageStats::default()
    };
    let ios = load * 10_000;
    let (device, whole) = (71_000 + load * 1_000, 75_000 + load * 1_000);
    let before = [("Q2G", 900), ("G2I", 400), ("Q2M", 300), ("I2D", 2_100)];
    let stages = before.into_iter().chain([
        ("M2D", 5_000),
        ("D2C", device),
        ("Q2C", whole),
        ("Q2Q", 10_000),
    ]);
    let mut latencies = Histogram::default();
    for io in 0..ios / 100 {
        latencies.record(40_000 + io * io * 3);
    }
    let process = |index: u64| ProcessIos {
        pid: (index > 0).then_some(1_000 + index as u32),
        comm: format!("fio-worker-{index}"),
        ios: ios / (index + 2),
        bytes: 4_096 * ios / (index + 2),
    };
    LiveInterval {
        end_s: n as f64 + 1.0,
        length_s: 1.0,
        ios,
        bytes: ios * 4_096,
        iops: ios as f64,
        mib_s: ios as f64 / 256.0,
        in_flight_mean: load as f64 * 0.8,
        in_flight_now: load,
        latency: LatencyCounts::from(&latencies),
        stages: stages
            .map(|(name, ns)| (name.to_owned(), stage(ios, ns)))
            .collect(),
        bottleneck: Some(Bottleneck {
            stage: "D2C".to_owned(),
            share: 0.94,
            why: "driver and device take most of the time, and there are few I/Os in flight"
                .to_owned(),
            ..Bottleneck::default()
        }),
        processes: (0..processes.min(16)).map(process).collect(),
        processes_seen: processes,
        lost: n / 50,
        unqueued: 0,
    }
}

fn screen(width: u16) -> Screen {
    Screen::new(width, false)
}

fn shown(intervals: &[LiveInterval], width: u16, height: u16) -> String {
    live(TITLE, intervals, screen(width), height)
}

#[test]
fn a_known_capture() {
    let intervals: Vec<LiveInterval> = (0..200).map(|n| interval(n, 30)).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for (width, height) in [(80, 24), (120, 40)] {
            let text = shown(&intervals, width, height);
            insta::assert_snapshot!(format!("live_at_{width}x{height}"), text);
        }
    });
}

#[test]
fn a_capture_that_has_begun_or_is_idle() {
    assert_eq!(shown(&[], 80, 24), format!("{TITLE}\n"));
    let idle = LiveInterval {
        end_s: 1.0,
        ..LiveInterval::default()
    };
    let text = shown(&[idle], 80, 24);
    for word in ["0 IOPS", "no I/O completed", "p99", "Q2C from"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// The histogram has the counts of the interval, and a wide terminal shows more history. The kept
/// views have the words.
#[test]
fn the_histogram_counts_all_ios() {
    let intervals: Vec<LiveInterval> = (0..200).map(|n| interval(n, 30)).collect();
    let text = shown(&intervals, 80, 24);
    let (_, bars) = text.split_once("share").unwrap();
    let count = |line: &str| {
        let count = line.get(9..).and_then(|r| r.trim_start().split(' ').next());
        count.and_then(|n| n.replace('\u{202f}', "").parse::<u64>().ok())
    };
    let counted: u64 = bars.lines().filter_map(count).sum();
    assert_eq!(counted, intervals[199].latency.ios, "{text}");
    let wide = shown(&intervals, 160, 24);
    let columns = |text: &str| text.matches(['▁', '▂', '▃', '▄', '▅', '▆', '▇']).count();
    assert!(columns(&wide) > columns(&text) * 2, "more history: {wide}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A wrapped line, or one too many, would break the display. It erases the last view by its
    /// number of lines, and the cursor stands below.
    #[test]
    fn every_view_fits_the_screen(
        intervals in 0u64..90,
        processes in 0u64..40,
        width in 20u16..200,
        height in 2u16..70,
        title in any::<String>(),
    ) {
        let intervals: Vec<LiveInterval> = (0..intervals).map(|n| interval(n, processes)).collect();
        let text = live(&title, &intervals, screen(width), height);
        prop_assert!(text.lines().count() < usize::from(height), "{}", text);
        for line in text.lines() {
            let wide = textwrap::core::display_width(line);
            prop_assert!(wide <= usize::from(width), "{} of {}: {}", wide, width, line);
        }
        // Colours change nothing but the colours.
        let coloured = live(&title, &intervals, Screen { colour: true, ..screen(width) }, height);
        let plain = |text: &str| {
            let mut parts = text.split('\u{1b}');
            let first = parts.next().unwrap_or("").to_owned();
            parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
        };
        prop_assert_eq!(plain(&coloured), text);
    }
}

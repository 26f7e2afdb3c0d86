//! The view of a running capture: snapshots, and a test that it fits any screen.

use proptest::prelude::*;
use q2c_model::stats::Histogram;
use q2c_report::terminal::{LiveView, Screen};
use q2c_result::analyze::{Bottleneck, StageStats};
use q2c_result::live::{LatencyCounts, LiveInterval, ProcessIos};
use std::collections::BTreeMap;

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
        in_flight_now: Some(load),
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
        disks: BTreeMap::new(),
    }
}

/// The interval of three disks: one with all of the load, one with that of seven intervals later,
/// and an idle one.
fn three_disks(n: u64) -> LiveInterval {
    let one = |number| LiveInterval {
        in_flight_now: None,
        ..interval(number, 9)
    };
    let idle = LiveInterval {
        end_s: n as f64 + 1.0,
        ..LiveInterval::default()
    };
    let disks = [("nvme0n1", one(n)), ("nvme1n1", one(n + 7)), ("sda", idle)];
    LiveInterval {
        disks: disks.map(|(name, disk)| (name.to_owned(), disk)).into(),
        ..interval(n, 30)
    }
}

fn screen(width: u16) -> Screen {
    Screen::new(width, false)
}

const KEYS: &str = "q: quit   space: pause   tab: disk";

fn view<'a>(intervals: &'a [LiveInterval], disk: Option<&'a str>) -> LiveView<'a> {
    LiveView {
        title: TITLE,
        intervals,
        disk,
        footer: KEYS,
    }
}

fn shown(intervals: &[LiveInterval], width: u16, height: u16) -> String {
    view(intervals, None).text(screen(width), height)
}

#[test]
fn a_known_capture() {
    let one: Vec<LiveInterval> = (0..200).map(|n| interval(n, 30)).collect();
    let three: Vec<LiveInterval> = (0..200).map(three_disks).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for (width, height) in [(80, 24), (200, 60)] {
            let size = format!("{width}x{height}");
            let text = shown(&one, width, height);
            insta::assert_snapshot!(format!("live_at_{size}"), text);
            let text = view(&three, Some("nvme1n1")).text(screen(width), height);
            insta::assert_snapshot!(format!("live_of_a_disk_at_{size}"), text);
        }
    });
}

#[test]
fn a_capture_that_has_begun_or_is_idle() {
    let begun = shown(&[], 80, 24);
    assert!(begun.starts_with(TITLE) && begun.ends_with(KEYS), "{begun}");
    let idle = LiveInterval {
        end_s: 1.0,
        ..LiveInterval::default()
    };
    let text = shown(&[idle], 80, 24);
    for word in ["0 IOPS", "no I/O completed", "p99", "Q2C from"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// A larger terminal shows more history.
#[test]
fn a_wide_screen_has_more_history() {
    let intervals: Vec<LiveInterval> = (0..200).map(|n| interval(n, 30)).collect();
    let columns = |width| {
        let text = shown(&intervals, width, 24);
        let line = text.lines().find(|line| line.starts_with("IOPS"));
        let blocks = |line: &str| {
            line.matches(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'])
                .count()
        };
        line.map_or(0, blocks)
    };
    assert_eq!((columns(80), columns(160)), (50, 130));
}

/// The figures below the table of disks are those of the disk that was chosen.
#[test]
fn a_chosen_disk_is_shown_alone() {
    let intervals: Vec<LiveInterval> = (0..9).map(three_disks).collect();
    let second_line = |disk| {
        let text = view(&intervals, disk).text(screen(100), 40);
        text.lines().nth(1).map(str::to_owned)
    };
    // The load is 1 + 8 * 7 % 10 = 7 in the last interval, and 1 + 15 * 7 % 10 = 6 on the second
    // disk, in units of 10,000 I/Os per second.
    let starts = [
        (None, "load: 70.0 K IOPS"),
        (Some("nvme1n1"), "nvme1n1: 60.0 K IOPS"),
        (Some("sda"), "sda: 0 IOPS"),
    ];
    for (disk, start) in starts {
        let line = second_line(disk).unwrap();
        assert!(line.starts_with(start), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A wrapped line, or one too many, would move the screen.
    #[test]
    fn every_view_fits_the_screen(
        intervals in 0u64..90,
        processes in 0u64..40,
        width in 20u16..200,
        height in 2u16..70,
        disks in any::<bool>(),
        title in any::<String>(),
    ) {
        let by_disk = |n| if disks { three_disks(n) } else { interval(n, processes) };
        let intervals: Vec<LiveInterval> = (0..intervals).map(by_disk).collect();
        let view = LiveView { title: &title, ..view(&intervals, Some("nvme1n1")) };
        let text = view.text(screen(width), height);
        prop_assert_eq!(text.split('\n').count(), usize::from(height), "{}", text);
        for line in text.lines() {
            let wide = textwrap::core::display_width(line);
            prop_assert!(wide <= usize::from(width), "{} of {}: {}", wide, width, line);
        }
        // Colours change nothing but the colours.
        let coloured = view.text(Screen { colour: true, ..screen(width) }, height);
        let plain = |text: &str| {
            let mut parts = text.split('\u{1b}');
            let first = parts.next().unwrap_or("").to_owned();
            parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
        };
        prop_assert_eq!(plain(&coloured), text);
    }
}

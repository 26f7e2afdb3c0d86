//! Tests the pages of a replay and of a comparison of devices in a browser.

use crate::fixture;
use serde_json::json;

#[test]
fn a_replay_is_drawn_in_every_view() {
    let mut page = open!(fixture::replay());
    // Latency has U2C, U2C from the intended time, and Q2C. The other charts have the recording and
    // the replay, or only the replay.
    let charts = [
        ("latency", Some(0), 3),
        ("latency", Some(1), 3),
        ("in-flight", Some(0), 2),
        ("in-flight", Some(1), 2),
        ("iops", Some(0), 2),
        ("lateness", None, 1),
    ];
    page.assert_charts(&charts);
}

#[test]
fn a_replay_whose_times_do_not_count_is_drawn_alone() {
    let mut page = open!(fixture::replay_outstanding());
    // U2C from the intended time equals U2C here, and the recording's windows are unknown.
    let charts = [
        ("latency", Some(0), 2),
        ("in-flight", Some(0), 1),
        ("iops", Some(0), 1),
    ];
    page.assert_charts(&charts);
    assert_eq!(page.count_drawn(), 3);
}

/// U2C and Q2C of two devices for two traces in two modes, and no chart over time.
#[test]
fn several_comparisons_are_drawn_by_their_latencies() {
    let mut page = open!(fixture::compare_published());
    let latency = page.show_view("latency", 0);
    assert_eq!(latency["traces"], json!(16), "{latency}");
    assert_eq!(page.count_drawn(), 1);
}

#[test]
fn a_comparison_is_drawn_with_a_line_for_each_device() {
    let mut page = open!(fixture::compare());
    // Two of three devices have a trial to show. Latency has U2C and Q2C of each. The other charts
    // have both devices, some also the recording.
    let charts = [
        ("latency", Some(0), 4),
        ("latency", Some(1), 4),
        ("in-flight", Some(0), 3),
        ("iops", Some(1), 3),
        ("lateness", None, 2),
    ];
    page.assert_charts(&charts);
}

#[test]
fn a_comparison_shows_the_numbers_it_was_given() {
    let mut page = open!(fixture::compare());
    // The first second has 413 requests, which take 4 ms in the recording, 90 us and 18 us on the
    // devices.
    let first = page.plotted("in-flight", "p.data.map((t) => [t.name, t.x[0], t.y[0]])");
    let (nvme, zram) = ("/dev/nvme0n1", "/dev/zram0");
    let expected = [("recorded", 1.652), (nvme, 0.03717), (zram, 0.007_434)];
    assert_eq!(
        first,
        json!(expected.map(|(name, mean)| json!([name, 0.5, mean])))
    );
    // The median of an exponential distribution is its mean times ln 2: of 90, 85, 18 and 13 us.
    let medians = page.plotted(
        "latency",
        "p.data.map((t) => [t.name, t.text[50], t.x[50]])",
    );
    let of_nvme = [("/dev/nvme0n1 U2C", 62.383), ("/dev/nvme0n1 Q2C", 58.918)];
    let of_zram = [("/dev/zram0 U2C", 12.477), ("/dev/zram0 Q2C", 9.0109)];
    let expected = [of_nvme, of_zram].concat();
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, us)| json!([name, "p50", us]))
        .collect();
    assert_eq!(medians, json!(expected));
}

/// The lateness is 10.4 s at the end; the chart's unit is the microsecond.
#[test]
fn a_saturated_device_is_late_at_the_end() {
    let mut page = open!(fixture::replay_saturated());
    let last = page.plotted("lateness", "p.data[0].y.at(-1)");
    assert_eq!(last, json!(10_400_000));
    let cautions =
        "[...document.querySelectorAll('.notice.caution')].map((n) => n.textContent).join('\\n')";
    let cautions = page.evaluate(cautions).to_string();
    let waited =
        "18\u{202f}204 requests waited in all 6 min 53 s for a free place; a finding, not a fault";
    assert!(cautions.contains(waited), "{cautions}");
}

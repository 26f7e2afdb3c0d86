//! Late time in words: the parts of U2C, and whether the sleep or the device made I/Os late.

use crate::phrase::{joined, when};
use crate::quantity::{DASH, count, counted_if_any, duration, iops, number, percent};
use q2c_model::{Bytes, U2cParts};
use q2c_result::late::{
    DeviceLoad, LateNumbers, LateRun, LateTime, LateWatch, SlowestIos, UnseenReason,
};

pub(crate) const PART_NAMES: [&str; 6] = [
    "submission",
    "device",
    "return",
    "oversleep",
    "wake-up",
    "reap",
];

/// The smallest share of the slowest I/Os' extra time at which a part is named as the reason.
const MIN_MAIN_SHARE: f64 = 0.5;

/// The late time of a cell in sentences, the most important one first.
pub(crate) fn sentences(late: &LateTime) -> Vec<String> {
    match late {
        LateTime::Unseen(cause) => vec![absence(cause)],
        LateTime::Seen(run) => {
            let findings = [slowest_text(run), miss_text(run), unmatched_ios(&run.all)];
            let mut sentences = vec![parts(&run.all)];
            sentences.extend(findings.into_iter().flatten());
            sentences.push(capture_text(run));
            sentences
        }
    }
}

/// The reason why a run has no late time although the block layer was to be captured.
pub(crate) fn absence(cause: &UnseenReason) -> String {
    let reason = match cause {
        UnseenReason::NoDevice => "no block device stands under the target",
        UnseenReason::PastBlockLayer => "the I/O does not go through the block layer",
        UnseenReason::Failed(error) => &format!("failed to {error}"),
        UnseenReason::NoIo { others } => &format!(
            "the capture of the block layer saw no I/O of the jobs, and {} of others",
            count(*others)
        ),
        UnseenReason::Refused(error) => &format!("failed to capture the block layer: {error}"),
        UnseenReason::Stopped => "the run was stopped before",
    };
    format!("none: {reason}")
}

/// The slowest I/Os, and the part that made most of their time beyond the mean.
fn slowest_text(run: &LateRun) -> Option<String> {
    let SlowestIos { ios, parts } = run.slowest?;
    let mean = run.all.parts?;
    let u2c = parts.u2c_ns();
    let extra = u2c - mean.u2c_ns();
    let excess = parts.zip(mean).map(|(slow, mean)| slow - mean).in_order();
    let mut shares = PART_NAMES.into_iter().zip(excess.map(|part| part / extra));
    let cause = match shares.find(|(_, share)| *share >= MIN_MAIN_SHARE) {
        Some(("oversleep", share)) => format!("by the sleep asked ({})", percent(share)),
        Some((part, share)) => format!("by the {part} ({})", percent(share)),
        None => "by no part alone".to_owned(),
    };
    let slowest = format!("mean {}: {}", duration(u2c), parts_sum(&parts));
    let ios = format!("the slowest {} I/Os ({slowest})", count(ios));
    Some(format!("{ios} took longer {cause}"))
}

fn miss_text(run: &LateRun) -> Option<String> {
    let (numbers, lateness) = (&run.all, run.lateness_of_misses?);
    let [misses, ios] = [numbers.misses, numbers.matched].map(count);
    let [mean, p50] = [lateness.mean_ns, lateness.p50_ns].map(duration);
    let [p99, max] = [lateness.p99_ns, lateness.max_ns].map(duration);
    let mut text = format!(
        "{misses} misses of {ios} I/Os were late by {mean} (median {p50}, p99 {p99}, at most {max})"
    );
    let loads = [numbers.beside_misses, numbers.beside_others];
    if loads.iter().flatten().all(|device| device.requests == 0.0) {
        return Some(text + ". The device had no other request when they completed");
    }
    let misses = numbers.beside_misses.map_or(DASH.to_owned(), requests_text);
    text += &format!(". When they completed, the device had {misses} besides");
    if let Some(others) = numbers.beside_others {
        text += &format!(", and when the other I/Os did, {}", requests_text(others));
    }
    Some(text)
}

fn capture_text(run: &LateRun) -> String {
    format!(
        "a run of {} IOPS with the capture ({}, whose reader took {} % of a CPU). Mean U2C by the threads alone {}{}",
        iops(run.iops),
        run.captured_by,
        number(run.reader_cpu_pct),
        duration(run.u2c_mean_ns),
        capture_losses(run.lost, run.not_kept)
    )
}

/// Says what a capture lacks, in words that follow a sentence; empty if it lacks nothing.
fn capture_losses(lost: u64, not_kept: u64) -> String {
    let clause = |ios: u64, what: &str, which: &str| {
        let clause = format!("; {what} {} I/O{}{which}", count(ios), when(ios != 1, "s"));
        when(ios > 0, &clause).to_owned()
    };
    clause(lost, "the capture lost", "")
        + &clause(not_kept, "there was no memory for", " of the device")
}

/// Other requests on the device: `1.20 requests (77.0 KiB)`.
fn requests_text(on_device: DeviceLoad) -> String {
    let bytes = Bytes(on_device.bytes.round() as u64).in_short();
    format!("{} requests ({bytes})", number(on_device.requests))
}

/// The means of the parts; without any, a sentence that no I/O was matched.
pub(crate) fn parts(numbers: &LateNumbers) -> String {
    let Some(parts) = numbers.parts else {
        return "no I/O was matched with the block layer's requests".to_owned();
    };
    format!("U2C {} = {}", duration(parts.u2c_ns()), parts_sum(&parts))
}

fn parts_sum(parts: &U2cParts<f64>) -> String {
    let parts = PART_NAMES.iter().zip(parts.in_order());
    let parts = parts.map(|(name, ns)| format!("{name} {}", duration(ns)));
    joined(parts, " + ")
}

/// The numbers of I/Os that were not matched, by reason; `None` if all were matched.
pub(crate) fn unmatched_ios(numbers: &LateNumbers) -> Option<String> {
    let counts = numbers.unmatched;
    let breakdown = counted_if_any(&[
        (counts.no_request, "no request of the thread was seen"),
        (counts.other_bytes, "its requests moved other bytes"),
        (counts.no_times, "hand-over or completion were not seen"),
        (counts.out_of_order, "the times are out of order"),
        (counts.completed_after_reap, "completed after the reaping"),
    ])?;
    let [unmatched, ios] = [counts.total(), counts.total() + numbers.matched].map(count);
    let ios = format!("{unmatched} of {ios} I/Os");
    Some(format!("{ios} are not in these figures: {breakdown}"))
}

pub(crate) fn watch(late: &LateWatch) -> String {
    match late {
        LateWatch::Unseen(cause) => absence(cause),
        LateWatch::Seen {
            captured_by,
            reader_cpu_pct,
            lost,
            not_kept,
        } => format!(
            "the block layer was captured ({captured_by}), which slows each I/O; its reader took {} % of a CPU{}",
            number(*reader_cpu_pct),
            capture_losses(*lost, *not_kept)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::late::{MissLateness, Unmatched};
    use q2c_result::replay::CapturedBy;

    fn parts(values: [f64; 6]) -> U2cParts<f64> {
        let named = [
            "submission",
            "device",
            "return",
            "oversleep",
            "wakeup",
            "reap",
        ];
        let named = named.map(|name| format!("{name}_ns")).into_iter();
        serde_json::from_value(serde_json::Value::from_iter(named.zip(values))).expect("parts")
    }

    fn run(slowest: [f64; 6]) -> LateRun {
        let on_device = |requests, bytes| Some(DeviceLoad { requests, bytes });
        LateRun {
            captured_by: CapturedBy::Bpf,
            iops: 5_000.0,
            u2c_mean_ns: 100e3,
            reader_cpu_pct: 3.0,
            lost: 0,
            not_kept: 0,
            all: LateNumbers {
                matched: 990,
                unmatched: Unmatched {
                    no_request: 10,
                    ..Unmatched::default()
                },
                parts: Some(parts([10e3, 70e3, 0.0, 12e3, 3e3, 5e3])),
                overslept: 300,
                misses: 290,
                miss_late_ns: Some(50e3),
                beside_misses: on_device(0.5, 32_768.0),
                beside_others: on_device(2.0, 131_072.0),
                ..LateNumbers::default()
            },
            slowest: Some(SlowestIos {
                ios: 9,
                parts: parts(slowest),
            }),
            lateness_of_misses: Some(MissLateness {
                mean_ns: 50e3,
                p50_ns: 40e3,
                p99_ns: 200e3,
                max_ns: 1e6,
            }),
            intervals: Vec::new(),
            misses_kept: Vec::new(),
        }
    }

    /// The slowest I/Os took 400 us longer than the mean. 300 us of that are in the device, in the
    /// sleep asked or in the wake-up; or no part has more than 200 us.
    #[test]
    fn sleep_and_device_are_told_apart() {
        for (slowest, wanted) in [
            ([10e3, 370e3, 0.0, 62e3, 53e3, 5e3], "the device (75.0 %)"),
            (
                [10e3, 170e3, 0.0, 312e3, 3e3, 5e3],
                "the sleep asked (75.0 %)",
            ),
            ([10e3, 170e3, 0.0, 12e3, 303e3, 5e3], "the wake-up (75.0 %)"),
            ([110e3, 250e3, 0.0, 62e3, 53e3, 25e3], "by no part alone"),
        ] {
            let late = LateTime::Seen(Box::new(run(slowest)));
            let sentences = sentences(&late);
            assert!(sentences[1].ends_with(wanted), "{sentences:?}");
            assert!(sentences[1].contains("(mean 500 us"), "{sentences:?}");
        }
    }

    #[test]
    fn what_was_not_matched_is_counted() {
        let late = LateTime::Seen(Box::new(run([10e3, 370e3, 0.0, 62e3, 53e3, 5e3])));
        let unmatched = &sentences(&late)[3];
        assert!(
            unmatched.starts_with("10 of 1\u{202f}000 I/Os"),
            "{unmatched}"
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_not_lacking() {
        assert_eq!(capture_losses(0, 0), "");
        assert_eq!(capture_losses(1, 0), "; the capture lost 1 I/O");
        assert_eq!(
            capture_losses(2, 1),
            "; the capture lost 2 I/Os; there was no memory for 1 I/O of the device"
        );
    }
}

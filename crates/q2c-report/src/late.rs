//! Late time in words: where U2C goes, and whether late I/Os were late by the sleep or the device.

use crate::phrase::{joined, listed, when};
use crate::quantity::{NOTHING, count, duration, iops, number, percent, size};
use q2c_model::{Bytes, U2cParts};
use q2c_result::late::{
    LateNumbers, LateRun, LateTime, LateWatch, OnDevice, Slowest, Unmatched, Unseen,
};

pub(crate) const PARTS: [&str; 6] = [
    "submission",
    "device",
    "return",
    "oversleep",
    "wake-up",
    "reap",
];

/// A part that makes at least this share of what the slowest I/Os took longer is named as the
/// reason.
const MAIN: f64 = 0.5;

/// Late time of a cell in sentences, the most important first.
pub(crate) fn sentences(late: &LateTime) -> Vec<String> {
    match late {
        LateTime::Unseen(why) => vec![unseen(why)],
        LateTime::Seen(run) => [
            Some(numbers(&run.all)),
            slowest(run),
            misses(run),
            unmatched(&run.all),
            Some(captured(run)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

/// Why there is nothing of a run that the block layer was to be captured beside.
pub(crate) fn unseen(cause: &Unseen) -> String {
    let reason = match cause {
        Unseen::NoDevice => "no block device stands under the target",
        Unseen::PastBlockLayer => "the I/O does not go through the block layer",
        Unseen::Failed(error) => return format!("none: failed to {error}"),
        Unseen::NoIo { others } => {
            let others = count(*others);
            return format!(
                "none: the capture of the block layer saw no I/O of the jobs, and {others} of others"
            );
        }
        Unseen::Refused(error) => {
            return format!("none: failed to capture the block layer: {error}");
        }
        Unseen::Stopped => "the run was stopped before",
    };
    format!("none: {reason}")
}

/// The slowest I/Os, and the part that made most of what they took longer than the mean.
fn slowest(run: &LateRun) -> Option<String> {
    let Slowest { ios, parts } = run.slowest?;
    let mean = run.all.parts?;
    let u2c = parts.u2c_ns();
    let more = u2c - mean.u2c_ns();
    let excess = parts.zip(mean).map(|(slow, mean)| slow - mean).in_order();
    let mut shares = PARTS.into_iter().zip(excess.map(|part| part / more));
    let by = match shares.find(|(_, share)| *share >= MAIN) {
        Some(("oversleep", share)) => format!("by the sleep asked ({})", percent(share)),
        Some((part, share)) => format!("by the {part} ({})", percent(share)),
        None => "by no part alone".to_owned(),
    };
    let (ios, mean, sum) = (count(ios), duration(u2c), sum(&parts));
    Some(format!(
        "the slowest {ios} I/Os (mean {mean}: {sum}) took longer {by}"
    ))
}

fn misses(run: &LateRun) -> Option<String> {
    let (numbers, lateness) = (&run.all, run.lateness_of_misses?);
    let mut text = format!(
        "{} misses of {} I/Os were late by {} (median {}, p99 {}, at most {})",
        count(numbers.misses),
        count(numbers.matched),
        duration(lateness.mean_ns),
        duration(lateness.p50_ns),
        duration(lateness.p99_ns),
        duration(lateness.max_ns),
    );
    let mut others = [numbers.beside_misses, numbers.beside_others]
        .into_iter()
        .flatten();
    if others.all(|device| device.requests == 0.0) {
        return Some(text + ". The device had no other request when they completed");
    }
    let misses = numbers.beside_misses.map_or(NOTHING.to_owned(), requests);
    text += &format!(". When they completed, the device had {misses} besides");
    if let Some(others) = numbers.beside_others {
        text += &format!(", and when the other I/Os did, {}", requests(others));
    }
    Some(text)
}

fn captured(run: &LateRun) -> String {
    format!(
        "a run of {} IOPS with the capture ({}, whose reader took {} % of a CPU). Mean U2C by the threads alone {}{}",
        iops(run.iops),
        run.captured_by,
        number(run.reader_cpu_pct),
        duration(run.u2c_mean_ns),
        lacks(run.lost, run.not_kept)
    )
}

/// What a capture lacks, in words that follow others; empty where it lacks nothing.
fn lacks(lost: u64, not_kept: u64) -> String {
    let some = |ios: u64, what: &str, which: &str| {
        let clause = format!("; {what} {} I/O{}{which}", count(ios), when(ios != 1, "s"));
        when(ios > 0, &clause).to_owned()
    };
    some(lost, "the capture lost", "")
        + &some(not_kept, "there was no memory for", " of the device")
}

/// Other requests on the device: `1.20 requests (77.0 KiB)`.
fn requests(on_device: OnDevice) -> String {
    let bytes = size(Bytes(on_device.bytes.round() as u64));
    format!("{} requests ({bytes})", number(on_device.requests))
}

/// The means of the parts; `no I/O was matched` without any.
pub(crate) fn numbers(numbers: &LateNumbers) -> String {
    let Some(parts) = numbers.parts else {
        return "no I/O was matched with the block layer's requests".to_owned();
    };
    format!("U2C {} = {}", duration(parts.u2c_ns()), sum(&parts))
}

fn sum(parts: &U2cParts<f64>) -> String {
    joined(
        PARTS
            .iter()
            .zip(parts.in_order())
            .map(|(name, ns)| format!("{name} {}", duration(ns))),
        " + ",
    )
}

/// I/Os that were not matched, by reason; `None` when all were.
pub(crate) fn unmatched(numbers: &LateNumbers) -> Option<String> {
    let Unmatched {
        no_request,
        other_bytes,
        no_times,
        out_of_order,
        completed_after_reap,
    } = numbers.unmatched;
    let reasons = [
        (no_request, "no request of the thread was seen"),
        (other_bytes, "its requests moved other bytes"),
        (no_times, "hand-over or completion were not seen"),
        (out_of_order, "the times are out of order"),
        (completed_after_reap, "completed after the reaping"),
    ];
    let nonzero = reasons.iter().filter(|(ios, _)| *ios > 0);
    let breakdown = listed(nonzero.map(|(ios, reason)| format!("{} {reason}", count(*ios))));
    let total = numbers.unmatched.total();
    let (some, all_ios) = (count(total), count(total + numbers.matched));
    (total > 0).then(|| format!("{some} of {all_ios} I/Os are not in these figures: {breakdown}"))
}

pub(crate) fn watched(late: &LateWatch) -> String {
    match late {
        LateWatch::Unseen(why) => unseen(why),
        LateWatch::Seen {
            captured_by,
            reader_cpu_pct,
            lost,
            not_kept,
        } => format!(
            "the block layer was captured ({captured_by}), which slows each I/O; its reader took {} % of a CPU{}",
            number(*reader_cpu_pct),
            lacks(*lost, *not_kept)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::late::MissLateness;
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
        let parts = serde_json::Value::from_iter(named.zip(values));
        serde_json::from_value(parts).expect("parts")
    }

    fn run(slowest: [f64; 6]) -> LateRun {
        let on_device = |requests, bytes| Some(OnDevice { requests, bytes });
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
            slowest: Some(Slowest {
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

    /// The slowest took 400 us more than the mean: 300 in the device, in the sleep asked or in the
    /// wake-up, or 200 in none of them.
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
    fn every_figure_is_told() {
        let late = LateTime::Seen(Box::new(run([10e3, 370e3, 0.0, 62e3, 53e3, 5e3])));
        let sentences = sentences(&late);
        let wanted = "U2C 100 us = submission 10.0 us + device 70.0 us + return 0 ns + oversleep 12.0 us + \
                      wake-up 3.00 us + reap 5.00 us";
        assert_eq!(sentences[0], wanted);
        assert!(sentences[2].contains("290 misses of 990 I/Os were late by 50.0 us"));
        assert!(
            sentences[2]
                .contains("0.50 requests (32 KiB) besides, and when the other I/Os did, 2.00")
        );
        assert!(
            sentences[3].starts_with("10 of 1\u{202f}000 I/Os"),
            "{sentences:?}"
        );
        assert!(
            sentences[4].contains("5.00 K IOPS with the capture (bpf"),
            "{sentences:?}"
        );
        let none = super::sentences(&LateTime::Unseen(Unseen::NoDevice));
        assert_eq!(none, ["none: no block device stands under the target"]);
    }

    #[test]
    fn nothing_is_said_of_what_is_not_lacking() {
        assert_eq!(lacks(0, 0), "");
        assert_eq!(lacks(1, 0), "; the capture lost 1 I/O");
        assert_eq!(
            lacks(2, 1),
            "; the capture lost 2 I/Os; there was no memory for 1 I/O of the device"
        );
    }
}

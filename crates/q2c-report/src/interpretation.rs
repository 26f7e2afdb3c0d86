//! How a simulation interpreted a trace, in words.

use crate::phrase::{listed, listed_if_any, when};
use crate::quantity::{count, duration};
use q2c_model::{AssumedValues, DeviceTime, Interpretation, LanesBy, LeftOutReason};

/// Clauses on how the parts of a trace were interpreted, and on what was left out or assumed. A
/// complete recording of q2c's own engine has none.
pub(crate) fn clauses(taken: &Interpretation, lanes: usize) -> Vec<String> {
    let mut clauses: Vec<String> = taken.format.iter().cloned().collect();
    clauses.extend(taken.assumed.and_then(assumption));
    if taken.latency != DeviceTime::Wait {
        clauses.extend(block_clauses(taken, lanes));
    } else if taken.think_as_cpu_ns > 0.0 {
        clauses.push(format!(
            "think time, {} on average, as CPU of its thread (the recording does not tell that it slept)",
            duration(taken.think_as_cpu_ns)
        ));
    }
    let counts = taken.left_out.iter();
    let counts = counts.map(|(reason, n)| format!("{} {}", count(*n), reason_text(*reason)));
    clauses.extend(listed_if_any(counts).map(|reasons| format!("left out: {reasons}")));
    for (reason, n) in &taken.unmatched {
        clauses.push(format!("{} not used by the import: {reason}", count(*n)));
    }
    clauses.extend((taken.lost > 0).then(|| format!("{} lost by its source", count(taken.lost))));
    if taken.in_files.0 > 0 {
        clauses.push(format!("{} of it in unnamed files", taken.in_files));
    }
    clauses
}

fn assumption(assumed: AssumedValues) -> Option<String> {
    let assumed_parts = match (assumed.op, assumed.bytes) {
        (Some(op), Some(bytes)) => format!("operation and length as {op}s of {bytes}"),
        (Some(op), None) => format!("operation as {op}s"),
        (None, Some(bytes)) => format!("length as such of {bytes}"),
        (None, None) => return None,
    };
    Some(format!("requests without {assumed_parts}"))
}

const KERNEL_SLEPT: &str = "the kernel's hybrid polling slept while this was recorded: the device time contains its oversleep; \
     record again with io_poll_delay -1";

fn block_clauses(taken: &Interpretation, lanes: usize) -> Vec<String> {
    let mut clauses = vec![latency_clause(taken), lanes_clause(taken, lanes)];
    if taken.devices.len() > 1 {
        let device = |(name, n): (&String, &u64)| format!("{name} ({})", count(*n));
        let devices = listed(taken.devices.iter().map(device));
        clauses.push(format!("requests of the devices {devices}"));
    }
    clauses.push("think time as idle (CPU is that of submissions and waits)".to_owned());
    clauses.push(completion_clause(taken));
    clauses.extend((taken.kernel_slept == Some(true)).then(|| KERNEL_SLEPT.to_owned()));
    clauses
}

fn latency_clause(taken: &Interpretation) -> String {
    let is_fallback = (taken.latency_asked, taken.latency) == (None, DeviceTime::Q2c);
    let reason = when(is_fallback, ", since no request has a D");
    let latency = taken.latency;
    let clause = format!("{latency} of the block layer as device time{reason}");
    let submission = duration(taken.submission_ns);
    format!("{clause}; the time before it as submission ({submission} on average)")
}

fn lanes_clause(taken: &Interpretation, lanes: usize) -> String {
    let owner = match taken.lanes_by {
        LanesBy::Thread => "thread",
        LanesBy::Device => "device",
    };
    let counted = |n: usize, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", count(n as u64)),
    };
    let (owners, lanes) = (counted(taken.owners, owner), counted(lanes, "lane"));
    let lanes = format!("{owners} as {lanes}");
    match taken.overlapping {
        0 => lanes,
        n => format!(
            "{lanes} of depth 1, because {} requests began while others of their {owner} were in flight",
            count(n)
        ),
    }
}

/// Says how the kernel learned of the completions; the device time contains that delay.
fn completion_clause(taken: &Interpretation) -> String {
    const UNKNOWN: &str = "the trace does not tell which requests were polled for; of the others the device time contains the \
         delivery of the interrupt";
    const BY_INTERRUPT: &str =
        "were completed by interrupt, whose delivery is in their device time";
    let total: u64 = taken.devices.values().sum();
    match taken.polled {
        None => UNKNOWN.to_owned(),
        Some(polled) if polled == total => "all requests were polled for by the kernel".to_owned(),
        Some(0) => format!("all requests {BY_INTERRUPT}"),
        Some(polled) => {
            let [interrupted, polled] = [total - polled, polled].map(count);
            format!("{interrupted} requests {BY_INTERRUPT}, and {polled} polled for")
        }
    }
}

fn reason_text(reason: LeftOutReason) -> &'static str {
    match reason {
        LeftOutReason::NoCompletion => "without a completion",
        LeftOutReason::Failed => "that failed",
        LeftOutReason::NeitherReadNorWrite => "neither reads nor writes (their time is think time)",
        LeftOutReason::Merged => "merged into others, which have the length of both",
        LeftOutReason::NoBegin => "without the time at which the device time begins",
        LeftOutReason::Disordered => "with times out of order",
        LeftOutReason::NotDriven => "of stacked devices, never handed to a driver",
        LeftOutReason::OtherDevice => "of other devices",
        LeftOutReason::OtherLayer => "of the other layer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, Layer, Op};
    use std::collections::BTreeMap;

    fn text_of(taken: &Interpretation, lanes: usize) -> String {
        clauses(taken, lanes).join("; ")
    }

    fn block() -> Interpretation {
        Interpretation {
            layer: Layer::Block,
            latency: DeviceTime::D2c,
            submission_ns: 1_500.0,
            owners: 2,
            devices: BTreeMap::from([("8:0".to_owned(), 300)]),
            ..Interpretation::default()
        }
    }

    /// A recording of the engine needs no words. The times that a program measured itself say
    /// nothing of what it did between reaping and submission.
    #[test]
    fn only_think_time_that_is_simulated_as_cpu_is_told_of_the_engines_layer() {
        let mut taken = Interpretation::default();
        assert_eq!(text_of(&taken, 1), "");
        taken.think_as_cpu_ns = 920_000.0;
        assert!(text_of(&taken, 1).starts_with("think time, 920 us on average, as CPU"));
    }

    #[test]
    fn only_what_was_assumed_is_told() {
        let (op, bytes) = (Some(Op::Read), Some(Bytes(4096)));
        for (op, bytes, wanted) in [
            (
                op,
                bytes,
                "requests without operation and length as reads of 4 KiB",
            ),
            (op, None, "requests without operation as reads"),
            (None, bytes, "requests without length as such of 4 KiB"),
        ] {
            let taken = Interpretation {
                assumed: Some(AssumedValues { op, bytes }),
                ..Interpretation::default()
            };
            assert_eq!(text_of(&taken, 1), wanted);
        }
    }

    #[test]
    fn every_assumption_is_told() {
        let taken = Interpretation {
            overlapping: 40,
            polled: Some(100),
            kernel_slept: Some(true),
            left_out: BTreeMap::from([
                (LeftOutReason::Merged, 7),
                (LeftOutReason::NoCompletion, 2),
            ]),
            lost: 3,
            ..block()
        };
        let text = text_of(&taken, 12);
        for word in [
            "D2C of the block layer",
            "1.50 us on average",
            "2 threads as 12 lanes of depth 1, because 40 requests",
            "200 requests were completed by interrupt",
            "100 polled for",
            "its oversleep",
            "7 merged into others",
            "2 without a completion",
            "3 lost",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains("devices 8:0"), "{text}");
    }

    #[test]
    fn what_was_not_asked_for_is_told_with_its_reason() {
        for (latency_asked, polled, since, word) in [
            (
                None,
                None,
                true,
                "does not tell which requests were polled for",
            ),
            (Some(DeviceTime::Q2c), None, false, "does not tell which"),
            (None, Some(300), true, "all requests were polled for"),
        ] {
            let taken = Interpretation {
                latency: DeviceTime::Q2c,
                latency_asked,
                polled,
                ..block()
            };
            let text = text_of(&taken, 2);
            assert_eq!(text.contains("since no request has a D"), since, "{text}");
            assert!(text.contains(word), "{text}");
        }
    }
}

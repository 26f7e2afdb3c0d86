//! Sentences on a trial of a replay, and why it is invalid.

use super::in_flight::{in_flight, validity};
use super::is_timed;
use crate::note::{Note, Weight};
use crate::phrase::{joined, listed_if_any, when};
use crate::quantity::{count, duration, iops, number, trim_zeros};
use q2c_model::Bytes;
use q2c_result::replay::{CapturedBy, Flaw, ReplayJob, ReplayTrial, TraceFacts};

/// Sentences on a trial, the most important first. Events that did not happen have none.
pub(crate) fn trial_notes(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> Vec<Note> {
    let mut notes = vec![validity(job, trace, trial)];
    notes.extend(saturation_note(trial));
    notes.push(Note::plain("issued", issued_text(trace, trial)));
    notes.extend(failure_note(trial));
    notes.extend(Note::plains("changed", changed_requests(trial)));
    notes.extend(q2c_note(trial));
    notes.extend(drift_note(job, trial));
    notes.push(Note::plain("in flight", in_flight(job, trace, trial)));
    notes.extend(order_note(trial));
    notes.push(Note::plain("replayer", replayer_text(trial)));
    notes
}

/// A sentence for each invalid trial, with the reason. `whose` is a prefix to the trial's number,
/// which counts from 1.
pub(crate) fn invalid_trials(whose: &str, trials: &[ReplayTrial]) -> Vec<Note> {
    let message = |(at, trial): (usize, &ReplayTrial)| {
        let heading = format!("{whose}trial {} is invalid", at + 1);
        (!trial.valid).then(|| Note::bad(&heading, trial_reasons(trial)))
    };
    trials.iter().enumerate().filter_map(message).collect()
}

const STOPPED: &str = "it was stopped before the trace's end";

pub(crate) fn invalid_reasons(invalid: &[Flaw]) -> String {
    joined(invalid.iter().map(invalid_reason), "; ")
}

/// The reasons of a trial. That it was stopped is named only if there is no other reason.
pub(super) fn trial_reasons(trial: &ReplayTrial) -> String {
    let mut text = invalid_reasons(&trial.invalid);
    let is_stopped = |reason: &Flaw| matches!(reason, Flaw::Stopped);
    if !trial.whole && !trial.invalid.iter().any(is_stopped) {
        text += &format!("{}{STOPPED}", when(!text.is_empty(), "; "));
    }
    text
}

pub(super) fn invalid_reason(reason: &Flaw) -> String {
    match reason {
        Flaw::Stopped => STOPPED.to_owned(),
        Flaw::Failed { requests, first } => {
            format!("{requests} requests failed, the first: {first}")
        }
        Flaw::ReplayerBound => "the replayer was busy all the time and kept far less in flight \
                                   than the trace: its own speed is what was measured"
            .to_owned(),
        Flaw::PartlyCaptured { seen, expected } => format!(
            "the capture saw {seen} of {expected} I/Os: \
             others are queued by the kernel's threads, or another disk's"
        ),
        Flaw::Late {
            p99_ns,
            allowed,
            spare_cpus,
            spin,
            busy_cpus,
        } => {
            let (cause, advice_start) = late_replayer(*busy_cpus);
            let (late, allowed) = (duration(*p99_ns), trim_zeros(&duration(allowed.0 as f64)));
            let limit =
                format!("{late} at the 99th percentile, where --max-lateness allows {allowed}");
            let advice = lateness_advice(*spare_cpus, *spin);
            format!("{cause}: {limit}. {advice_start} {advice}, or allow more")
        }
        Flaw::CaptureLost { lost, seen } => format!("the capture missed {lost} of {seen} I/Os"),
    }
}

/// Who caused the lateness, and the first word of the advice. Other work on the CPUs is named if
/// there was some.
fn late_replayer(busy_cpus: Option<f64>) -> (String, &'static str) {
    match busy_cpus {
        None => ("the replayer was late by its own fault".to_owned(), "Use"),
        Some(cpus) => (
            format!(
                "the replayer was late, and not held up by the device ({} CPUs were busy with \
                 other work before the run)",
                number(cpus)
            ),
            "Run on a quiet machine, or use",
        ),
    }
}

fn lateness_advice(spare_cpus: bool, spin: bool) -> &'static str {
    match (spare_cpus, spin) {
        (true, false) => "--spin, more --submitters, free CPUs or a lower speed",
        (true, true) => "more --submitters, free CPUs or a lower speed",
        (false, _) => "fewer --submitters, more CPUs or a lower speed",
    }
}

fn saturation_note(trial: &ReplayTrial) -> Option<Note> {
    let (stalled, wait) = (count(trial.stalled), duration(trial.stalled_s * 1e9));
    let waited = format!("{stalled} requests waited in all {wait} for a free place");
    if !trial.saturated {
        return (trial.stalled > 0).then(|| Note::plain("stalls", waited));
    }
    let [submissions, total] = [trial.submission_s, trial.completion_s].map(|s| duration(s * 1e9));
    let behind = format!("it was behind the trace: submissions took {submissions} of {total}");
    let finding = if trial.stalled > 0 { waited } else { behind };
    let message = format!("{finding}; a finding, not a fault");
    Some(Note::caution("device saturated", message))
}

fn issued_text(trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let [issued, requests] = [trial.issued, trace.requests].map(count);
    let bytes = Bytes(trial.bytes).in_short();
    let mut text = format!("{issued} requests of the trace's {requests}, {bytes}");
    if trial.completion_s > 0.0 {
        let rate = iops(trial.issued as f64 / trial.completion_s);
        text += &format!(", {rate} IOPS");
    }
    text
}

fn failure_note(trial: &ReplayTrial) -> Option<Note> {
    let mut message = format!("{} requests", count(trial.errors));
    if let Some(first) = &trial.first_error {
        message += &format!("; the first: {first}");
    }
    (trial.errors > 0).then(|| Note::bad("failed or short", message))
}

/// The ways in which a replay changed requests, with their counts, in alphabetical order.
fn changed_requests(trial: &ReplayTrial) -> Option<String> {
    let present = trial.changed.iter().filter(|(_, n)| **n > 0);
    let mut kinds: Vec<(&str, u64)> = present.map(|(kind, n)| (kind.text(), *n)).collect();
    kinds.sort_unstable();
    let kinds = kinds.iter();
    listed_if_any(kinds.map(|(kind, n)| format!("{kind} ({})", count(*n))))
}

fn q2c_note(trial: &ReplayTrial) -> Option<Note> {
    trial.sum_q2c_s?;
    let source = trial.q2c_source;
    let source = source.map_or("an unknown source", CapturedBy::name);
    let mut message = format!("captured by {source}, {} I/Os", count(trial.q2c_ios));
    if trial.q2c_parts > trial.q2c_ios {
        let parts = count(trial.q2c_parts);
        message += &format!(", which the block layer split to {parts} and which count as whole");
    }
    let missing_ios = missing_ios(trial);
    Some(Note::new(
        Weight::Caution.only_if(missing_ios.is_some()),
        "Q2C",
        message + &missing_ios.unwrap_or_default(),
    ))
}

/// How the I/Os in the sum of Q2C differ from one per request; `None` without a known difference.
/// If I/Os are missing, the lost ones are among them, and one number covers both.
fn missing_ios(trial: &ReplayTrial) -> Option<String> {
    let (lost, excess) = (trial.q2c_lost, trial.q2c_excess);
    let lacking = excess.min(0).unsigned_abs();
    let missing = match lost {
        0 => None,
        1 if lacking <= 1 => {
            Some("; 1 I/O is missing from the sum, as the capture lost it".to_owned())
        }
        n if n >= lacking => {
            let ios = format!("{} I/Os are missing from the sum", count(n));
            Some(format!("; {ios}, as the capture lost them"))
        }
        n => Some(format!(", of which the capture lost {}", count(n))),
    };
    let excess = (excess > 0 || lost < lacking).then(|| format!("; {}", excess_text(excess)));
    let clauses: String = excess.into_iter().chain(missing).collect();
    (!clauses.is_empty()).then_some(clauses)
}

/// The difference between the number of I/Os in the sum of Q2C and that of requests, in words.
pub(super) fn excess_text(excess: i64) -> String {
    let n = count(excess.unsigned_abs());
    if excess <= 0 {
        return format!("{n} fewer than the reads and writes submitted");
    }
    format!(
        "{n} more than the reads and writes submitted: extents of a file, disks below the \
         target or the longest bio made several I/Os of a request, and each is in the sum"
    )
}

fn drift_note(job: &ReplayJob, trial: &ReplayTrial) -> Option<Note> {
    let is_reported = is_timed(job) || trial.end_drift_ns != 0;
    let is_early = trial.end_drift_ns < 0;
    let side = if is_early { "before" } else { "behind" };
    let drift = duration(trial.end_drift_ns.unsigned_abs() as f64);
    let message = format!("the last submission {drift} {side} its intended time");
    is_reported.then(|| Note::plain("end drift", message))
}

fn order_note(trial: &ReplayTrial) -> Option<Note> {
    let n = count(trial.order_inversions);
    let message =
        format!("{n} requests went before one that they overlap and that the trace has first");
    (trial.order_inversions > 0).then(|| Note::caution("order", message))
}

fn replayer_text(trial: &ReplayTrial) -> String {
    let [submitting, reading] =
        [trial.submitter_cpu_s, trial.reader_cpu_s].map(|s| duration(s * 1e9));
    let mut text = format!("{submitting} CPU submitting");
    if trial.issued > 0 {
        let per_request = duration(trial.submitter_cpu_s * 1e9 / trial.issued as f64);
        text += &format!(" ({per_request} for each request)");
    }
    text + &format!(", {reading} reading the trace, recording and capturing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;
    use q2c_model::replay::Change;

    #[test]
    fn changes_are_told_in_the_order_of_their_words() {
        let trial = ReplayTrial {
            changed: [
                (Change::WriteRead, 513),
                (Change::Empty, 1),
                (Change::Beyond, 0),
            ]
            .into(),
            ..ReplayTrial::default()
        };
        let wanted = "requests of no bytes, left out (1), writes, read instead (513)";
        assert_eq!(changed_requests(&trial).as_deref(), Some(wanted));
        assert_eq!(changed_requests(&ReplayTrial::default()), None);
    }

    /// Of 100 reads, 92 are in the sum and the capture lost 8, which makes 100 and not 108.
    #[test]
    fn what_the_capture_lost_is_told_once() {
        for (excess, lost, words) in [
            (-8, 8, "; 8 I/Os are missing"),
            (
                -8,
                3,
                "; 8 fewer than the reads and writes submitted, of which the capture lost 3",
            ),
            (-8, 0, "; 8 fewer than the reads and writes submitted"),
            // Two of the lost ones are neither reads nor writes. The warning has the same 10.
            (-8, 10, "; 10 I/Os are missing"),
            (0, 8, "; 8 I/Os are missing"),
            (-1, 1, "; 1 I/O is missing"),
            (8, 2, "; 2 I/Os are missing"),
        ] {
            let trial = ReplayTrial {
                q2c_excess: excess,
                q2c_lost: lost,
                ..ReplayTrial::default()
            };
            let message = missing_ios(&trial).unwrap();
            assert!(
                message.contains(words) && words.contains("fewer") == message.contains("fewer"),
                "{message}"
            );
        }
    }

    fn late(spare_cpus: bool, spin: bool, busy_cpus: Option<f64>) -> Flaw {
        Flaw::Late {
            p99_ns: 143_654_900.0,
            allowed: Nanos(100_000),
            spare_cpus,
            spin,
            busy_cpus,
        }
    }

    #[test]
    fn a_late_replayer_is_told_what_it_has_not_tried() {
        for (reason, words) in [
            (late(true, false, None), "Use --spin, more --submitters,"),
            (late(true, true, None), "Use more --submitters,"),
            (late(false, true, None), "Use fewer --submitters,"),
            (late(true, false, Some(1.9)), "(1.90 CPUs were busy"),
            (late(true, false, Some(1.9)), "quiet machine, or use --spin"),
        ] {
            let sentence = invalid_reason(&reason);
            let limits = "144 ms at the 99th percentile, where --max-lateness allows 100 us";
            assert!(
                sentence.contains(words) && sentence.contains(limits),
                "{sentence}"
            );
        }
    }

    #[test]
    fn each_reason_has_its_numbers() {
        let first = "read: EIO".to_owned();
        let requests = 2;
        let (seen, expected) = (90, 100);
        for (reason, words) in [
            (
                Flaw::Failed { requests, first },
                "2 requests failed, the first: read: EIO",
            ),
            (Flaw::ReplayerBound, "its own speed"),
            (
                Flaw::PartlyCaptured { seen, expected },
                "saw 90 of 100 I/Os",
            ),
            (Flaw::CaptureLost { lost: 2, seen }, "missed 2 of 90 I/Os"),
        ] {
            assert!(invalid_reason(&reason).contains(words), "{reason:?}");
        }
    }

    #[test]
    fn a_stopped_trial_says_so_once() {
        let reasons_with = |invalid| {
            trial_reasons(&ReplayTrial {
                whole: false,
                invalid,
                ..ReplayTrial::default()
            })
        };
        assert_eq!(reasons_with(vec![Flaw::Stopped]), STOPPED);
        assert_eq!(reasons_with(Vec::new()), STOPPED);
        let lost = reasons_with(vec![Flaw::CaptureLost { lost: 1, seen: 9 }]);
        assert!(
            lost.contains("1 of 9 I/Os; ") && lost.ends_with(STOPPED),
            "{lost}"
        );
    }
}

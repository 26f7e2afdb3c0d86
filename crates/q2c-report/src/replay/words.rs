//! Sentences on a trial of a replay.

use super::in_flight::{in_flight, validity};
use super::invalid::reasons_of;
use super::timed;
use crate::analysis::time;
use crate::phrase::some_listed;
use crate::quantity::{count, iops, size};
use crate::said::{Note, Weight};
use q2c_model::Bytes;
use q2c_result::replay::{CapturedBy, ReplayJob, ReplayTrial, TraceFacts};

/// Sentences on a trial, the most important first. Events that did not happen have none.
pub(crate) fn words(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> Vec<Note> {
    let mut said = vec![validity(job, trace, trial)];
    said.extend(saturation(trial));
    said.push(Note::plain("issued", issued(trace, trial)));
    said.extend(failed(trial));
    said.extend(Note::plains("changed", changed(trial)));
    said.extend(captured(trial));
    said.extend(drift(job, trial));
    said.push(Note::plain("in flight", in_flight(job, trace, trial)));
    said.extend(order(trial));
    said.push(Note::plain("replayer", replayer(trial)));
    said
}

/// A sentence for each invalid trial, with the reason. `whose` is a prefix to the trial's number,
/// which counts from 1.
pub(crate) fn invalid_trials(whose: &str, trials: &[ReplayTrial]) -> Vec<Note> {
    let message = |(at, trial): (usize, &ReplayTrial)| {
        let what = format!("{whose}trial {} is invalid", at + 1);
        (!trial.valid).then(|| Note::bad(&what, reasons_of(trial)))
    };
    trials.iter().enumerate().filter_map(message).collect()
}

fn saturation(trial: &ReplayTrial) -> Option<Note> {
    let (stalled, waited) = (count(trial.stalled), time(trial.stalled_s * 1e9));
    let waited = format!("{stalled} requests waited in all {waited} for a free place");
    if !trial.saturated {
        return (trial.stalled > 0).then(|| Note::plain("stalls", waited));
    }
    let [submissions, whole] = [trial.submission_s, trial.completion_s].map(|s| time(s * 1e9));
    let behind = format!("it was behind the trace: submissions took {submissions} of {whole}");
    let finding = if trial.stalled > 0 { waited } else { behind };
    let message = format!("{finding}; a finding, not a fault");
    Some(Note::caution("device saturated", message))
}

fn issued(trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let [issued, requests] = [trial.issued, trace.requests].map(count);
    let bytes = size(Bytes(trial.bytes));
    let mut text = format!("{issued} requests of the trace's {requests}, {bytes}");
    if trial.completion_s > 0.0 {
        let rate = iops(trial.issued as f64 / trial.completion_s);
        text += &format!(", {rate} IOPS");
    }
    text
}

fn failed(trial: &ReplayTrial) -> Option<Note> {
    let mut message = format!("{} requests", count(trial.errors));
    if let Some(first) = &trial.first_error {
        message += &format!("; the first: {first}");
    }
    (trial.errors > 0).then(|| Note::bad("failed or short", message))
}

/// The ways in which a replay changed requests, with their counts, in alphabetical order.
fn changed(trial: &ReplayTrial) -> Option<String> {
    let some = trial.changed.iter().filter(|(_, n)| **n > 0);
    let mut kinds: Vec<(&str, u64)> = some.map(|(kind, n)| (kind.text(), *n)).collect();
    kinds.sort_unstable();
    let kinds = kinds.iter();
    some_listed(kinds.map(|(kind, n)| format!("{kind} ({})", count(*n))))
}

fn captured(trial: &ReplayTrial) -> Option<Note> {
    trial.sum_q2c_s?;
    let by = trial.q2c_source;
    let by = by.map_or("an unknown source", CapturedBy::name);
    let mut message = format!("captured by {by}, {} I/Os", count(trial.q2c_ios));
    if trial.q2c_parts > trial.q2c_ios {
        let parts = count(trial.q2c_parts);
        message += &format!(", which the block layer split to {parts} and which count as whole");
    }
    let lacks = lacks(trial);
    Some(Note::new(
        Weight::Caution.only_when(lacks.is_some()),
        "Q2C",
        message + &lacks.unwrap_or_default(),
    ))
}

/// How the I/Os in the sum of Q2C differ from one per request; `None` without a known difference.
/// If I/Os are missing, the lost ones are among them, and one number covers both.
fn lacks(trial: &ReplayTrial) -> Option<String> {
    let (lost, differ) = (trial.q2c_lost, trial.q2c_excess);
    let lacking = differ.min(0).unsigned_abs();
    let missing = match lost {
        0 => None,
        1 if lacking <= 1 => {
            Some("; 1 I/O is missing from the sum, as the capture lost it".to_owned())
        }
        n if n >= lacking => {
            let n = count(n);
            Some(format!(
                "; {n} I/Os are missing from the sum, as the capture lost them"
            ))
        }
        n => Some(format!(", of which the capture lost {}", count(n))),
    };
    let excess = (differ > 0 || lost < lacking).then(|| format!("; {}", excess(differ)));
    let clauses: String = excess.into_iter().chain(missing).collect();
    (!clauses.is_empty()).then_some(clauses)
}

/// The difference between the number of I/Os in the sum of Q2C and that of requests, in words.
pub(super) fn excess(excess: i64) -> String {
    let by = count(excess.unsigned_abs());
    if excess <= 0 {
        return format!("{by} fewer than the reads and writes submitted");
    }
    format!(
        "{by} more than the reads and writes submitted: extents of a file, disks below the \
         target or the longest bio made several I/Os of a request, and each is in the sum"
    )
}

fn drift(job: &ReplayJob, trial: &ReplayTrial) -> Option<Note> {
    let is_reported = timed(job) || trial.end_drift_ns != 0;
    let is_early = trial.end_drift_ns < 0;
    let side = if is_early { "before" } else { "behind" };
    let by = time(trial.end_drift_ns.unsigned_abs() as f64);
    let message = format!("the last submission {by} {side} its intended time");
    is_reported.then(|| Note::plain("end drift", message))
}

fn order(trial: &ReplayTrial) -> Option<Note> {
    let n = count(trial.order_inversions);
    let message =
        format!("{n} requests went before one that they overlap and that the trace has first");
    (trial.order_inversions > 0).then(|| Note::caution("order", message))
}

fn replayer(trial: &ReplayTrial) -> String {
    let [submitting, reading] = [trial.submitter_cpu_s, trial.reader_cpu_s].map(|s| time(s * 1e9));
    let mut text = format!("{submitting} CPU submitting");
    if trial.issued > 0 {
        let per_request = time(trial.submitter_cpu_s * 1e9 / trial.issued as f64);
        text += &format!(" ({per_request} for each request)");
    }
    text + &format!(", {reading} reading the trace, recording and capturing")
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(changed(&trial).as_deref(), Some(wanted));
        assert_eq!(changed(&ReplayTrial::default()), None);
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
            let message = lacks(&trial).unwrap();
            assert!(
                message.contains(words) && words.contains("fewer") == message.contains("fewer"),
                "{message}"
            );
        }
    }
}

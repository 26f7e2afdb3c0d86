//! Sentences on a trial of a replay.

use super::change::changed;
use super::in_flight::{in_flight, validity};
use super::invalid::reasons_of;
use super::timed;
use crate::analysis::time;
use crate::quantity::{count, iops, size};
use crate::said::{Said, Weight};
use q2c_model::Bytes;
use q2c_result::replay::{CapturedBy, ReplayJob, ReplayTrial, TraceFacts};

/// Sentences on a trial, the most important first. Events that did not happen are left out.
pub(crate) fn words(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> Vec<Said> {
    let mut said = vec![validity(job, trace, trial)];
    said.extend(saturation(trial));
    said.push(Said::plain("issued", issued(trace, trial)));
    said.extend(failed(trial));
    said.extend(changed(trial).map(|words| Said::plain("changed", words)));
    said.extend(captured(trial));
    said.extend(drift(job, trial));
    said.push(Said::plain("in flight", in_flight(job, trace, trial)));
    said.extend(order(trial));
    said.push(Said::plain("replayer", replayer(trial)));
    said
}

/// A sentence for each invalid trial, with the reason. `whose` stands in front of the trial's
/// number.
pub(crate) fn invalid_trials(whose: &str, trials: &[ReplayTrial]) -> Vec<Said> {
    let told = |(at, trial): (usize, &ReplayTrial)| {
        let what = format!("{whose}trial {} is invalid", at + 1);
        Said::new(Weight::Bad, &what, reasons_of(trial))
    };
    let numbered = trials.iter().enumerate();
    numbered
        .filter(|(_, trial)| !trial.valid)
        .map(told)
        .collect()
}

fn saturation(trial: &ReplayTrial) -> Option<Said> {
    const FINDING: &str = "a finding, not a fault";
    let waited = format!(
        "{} requests waited in all {} for a free place",
        count(trial.stalled),
        time(trial.stalled_s * 1e9)
    );
    match (trial.saturated, trial.stalled) {
        (false, 0) => None,
        (false, _) => Some(Said::plain("stalls", waited)),
        (true, 0) => {
            let words = format!(
                "it was behind the trace: submissions took {} of {}; {FINDING}",
                time(trial.submission_s * 1e9),
                time(trial.completion_s * 1e9)
            );
            Some(Said::new(Weight::Caution, "device saturated", words))
        }
        (true, _) => {
            let words = format!("{waited}; {FINDING}");
            Some(Said::new(Weight::Caution, "device saturated", words))
        }
    }
}

fn issued(trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let mut text = format!(
        "{} requests of the trace's {}, {}",
        count(trial.issued),
        count(trace.requests),
        size(Bytes(trial.bytes))
    );
    if trial.completion_s > 0.0 {
        let rate = iops(trial.issued as f64 / trial.completion_s);
        text += &format!(", {rate} IOPS");
    }
    text
}

fn failed(trial: &ReplayTrial) -> Option<Said> {
    let mut words = format!("{} requests", count(trial.errors));
    if let Some(first) = &trial.first_error {
        words += &format!("; the first: {first}");
    }
    (trial.errors > 0).then(|| Said::new(Weight::Bad, "failed or short", words))
}

fn captured(trial: &ReplayTrial) -> Option<Said> {
    trial.sum_q2c_s?;
    let by = trial.q2c_source;
    let by = by.map_or("an unknown source", CapturedBy::name);
    let mut words = format!("captured by {by}, {} I/Os", count(trial.q2c_ios));
    let mut weight = Weight::Plain;
    if trial.q2c_parts > trial.q2c_ios {
        let parts = count(trial.q2c_parts);
        words += &format!(", which the block layer split to {parts} and which count as whole");
    }
    if let Some(lacks) = lacks(trial) {
        words += &lacks;
        weight = Weight::Caution;
    }
    Some(Said::new(weight, "Q2C", words))
}

/// How the sum of Q2C differs from one term for each request; `None` where nothing is known to.
/// Where reads and writes are fewer than were submitted, lost ones are among those that lack, and
/// one number tells both.
fn lacks(trial: &ReplayTrial) -> Option<String> {
    let (lost, differ) = (trial.q2c_lost, trial.q2c_excess);
    let lacking = differ.min(0).unsigned_abs();
    let missing = match lost {
        0 => None,
        n if n >= lacking => Some(format!(
            "; {} I/O{} from the sum, as the capture lost {}",
            count(n),
            if n == 1 {
                " is missing"
            } else {
                "s are missing"
            },
            if n == 1 { "it" } else { "them" }
        )),
        n => Some(format!(", of which the capture lost {}", count(n))),
    };
    let told = (differ > 0 || lost < lacking).then(|| format!("; {}", excess(differ)));
    match (told, missing) {
        (None, None) => None,
        (told, missing) => Some(told.unwrap_or_default() + &missing.unwrap_or_default()),
    }
}

/// The difference between the I/Os in the sum of Q2C and the requests, in words.
pub(super) fn excess(excess: i64) -> String {
    let by = count(excess.unsigned_abs());
    match excess > 0 {
        true => format!(
            "{by} more than the reads and writes submitted: extents of a file, disks below the \
             target or the longest bio made several I/Os of a request, and each is in the sum"
        ),
        false => format!("{by} fewer than the reads and writes submitted"),
    }
}

fn drift(job: &ReplayJob, trial: &ReplayTrial) -> Option<Said> {
    let told = timed(job) || trial.end_drift_ns != 0;
    let side = if trial.end_drift_ns < 0 {
        "before"
    } else {
        "behind"
    };
    let by = time(trial.end_drift_ns.unsigned_abs() as f64);
    let words = format!("the last submission {by} {side} its intended time");
    told.then(|| Said::plain("end drift", words))
}

fn order(trial: &ReplayTrial) -> Option<Said> {
    let words = format!(
        "{} requests went before one that they overlap and that the trace has first",
        count(trial.order_inversions)
    );
    (trial.order_inversions > 0).then(|| Said::new(Weight::Caution, "order", words))
}

fn replayer(trial: &ReplayTrial) -> String {
    let [submitting, reading] = [trial.submitter_cpu_s, trial.reader_cpu_s].map(|s| time(s * 1e9));
    let mut text = format!("{submitting} CPU submitting");
    if trial.issued > 0 {
        let each = time(trial.submitter_cpu_s * 1e9 / trial.issued as f64);
        text += &format!(" ({each} for each request)");
    }
    text + &format!(", {reading} reading the trace, recording and capturing")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 reads 92 are in the sum and the capture lost 8: together they are 100, not 108.
    #[test]
    fn what_the_capture_lost_is_told_once() {
        let told = |excess, lost| {
            let trial = ReplayTrial {
                sum_q2c_s: Some(1.0),
                q2c_ios: 92,
                q2c_excess: excess,
                q2c_lost: lost,
                ..ReplayTrial::default()
            };
            let said = captured(&trial).unwrap();
            let (_, after) = said.words.split_once("; ").unwrap();
            after.to_owned()
        };
        const MISSING: &str = "I/Os are missing from the sum, as the capture lost them";
        const FEWER: &str = "8 fewer than the reads and writes submitted";
        assert_eq!(told(-8, 8), format!("8 {MISSING}"));
        assert_eq!(told(-8, 3), format!("{FEWER}, of which the capture lost 3"));
        assert_eq!(told(-8, 0), FEWER);
        // Two of them are no reads and writes. The number is that of the warning.
        assert_eq!(told(-8, 10), format!("10 {MISSING}"));
        assert_eq!(told(0, 8), format!("8 {MISSING}"));
        assert_eq!(
            told(-1, 1),
            "1 I/O is missing from the sum, as the capture lost it"
        );
        let more = told(8, 2);
        assert!(
            more.starts_with("8 more than") && more.ends_with(&format!("; 2 {MISSING}")),
            "{more}"
        );
    }
}

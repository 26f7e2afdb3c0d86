//! Whether a trial of a replay can be compared with others, and why not.

use super::capture::Captured;
use super::trial::TrialInputs;
use q2c_replay::{Mode, ReplayOutcome};
use q2c_result::replay::{Invalid, Lateness, ReplayTrial};

/// Empty when the trial can be compared. `own` is the replayer's own lateness.
pub(super) fn invalid(
    run: &TrialInputs<'_>,
    outcome: &ReplayOutcome,
    own: &Lateness,
    captured: Option<&Captured>,
    stopped: bool,
) -> Vec<Invalid> {
    let mut reasons = Vec::new();
    let counts = &outcome.counts;
    if stopped || !outcome.complete && counts.errors == 0 {
        reasons.push(Invalid::Stopped);
    }
    if counts.errors > 0 {
        reasons.push(Invalid::Failed {
            requests: counts.errors,
            first: outcome.first_error().unwrap_or_default().to_owned(),
        });
    }
    if idle_device(run, outcome) {
        reasons.push(Invalid::ReplayerBound);
    }
    reasons.extend(captured.and_then(|captured| partly_seen(outcome, captured)));
    if own.p99 > run.max_lateness.0 as f64 {
        reasons.push(Invalid::Late {
            p99_ns: own.p99,
            allowed: run.max_lateness,
            spare_cpus: q2c_replay::spare_cpus(run.plan),
            spin: run.plan.spin,
            busy_cpus: run.busy_cpus,
        });
    }
    reasons.extend(captured.and_then(lost));
    reasons
}

/// Whether an outstanding replay ran on a device that is faster than the replayer.
fn idle_device(run: &TrialInputs<'_>, outcome: &ReplayOutcome) -> bool {
    let counts = &outcome.counts;
    let threads = run.plan.threads() as f64;
    let busy = (counts.waited_ns as f64) < 0.05 * threads * counts.end_ns as f64;
    let outstanding = matches!(run.plan.mode, Mode::Outstanding { .. });
    // When requests had to wait for a free place, the cap kept less in flight, not the replayer.
    outstanding
        && busy
        && counts.capped == 0
        && outcome.in_flight_error().is_some_and(|error| error > 0.5)
}

/// `None` when the capture saw 99 % of reads and writes; other requests it may never see.
fn partly_seen(outcome: &ReplayOutcome, captured: &Captured) -> Option<Invalid> {
    let expected = outcome.counts.transfers;
    let seen = captured.transfers + captured.lost;
    (seen * 100 < expected * 99).then_some(Invalid::PartlyCaptured { seen, expected })
}

/// `None` while the capture lost at most a hundredth of the I/Os: the sum counts as correct then.
fn lost(captured: &Captured) -> Option<Invalid> {
    let (lost, kept) = (captured.lost, captured.q2c.count());
    let seen = lost + kept;
    (lost * 100 > kept).then_some(Invalid::CaptureLost { lost, seen })
}

/// Own lateness at p99, ns, where it is the only reason why a trial is invalid.
pub(super) fn only_late(trial: &ReplayTrial) -> Option<f64> {
    match trial.invalid.as_slice() {
        [Invalid::Late { p99_ns, .. }] if trial.whole && trial.errors == 0 => Some(*p99_ns),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;

    #[test]
    fn only_a_trial_that_was_late_and_nothing_else_is_repeated() {
        let late = || Invalid::Late {
            p99_ns: 2e6,
            allowed: Nanos(100_000),
            spare_cpus: true,
            spin: false,
            busy_cpus: None,
        };
        let trial = |invalid| ReplayTrial {
            whole: true,
            invalid,
            ..ReplayTrial::default()
        };
        assert_eq!(only_late(&trial(vec![late()])), Some(2e6));
        assert_eq!(only_late(&trial(Vec::new())), None);
        let lost = Invalid::CaptureLost { lost: 2, seen: 9 };
        assert_eq!(only_late(&trial(vec![late(), lost])), None);
        let mut stopped = trial(vec![late()]);
        stopped.whole = false;
        assert_eq!(only_late(&stopped), None);
    }
}

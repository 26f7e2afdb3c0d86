//! Turns the outcome of one replay into a trial of the result.
//!
//! Also decides whether a trial can be compared with others, and why not.

use super::capture::CaptureFigures;
use q2c_model::Nanos;
use q2c_model::stats::Histogram;
use q2c_replay::{Mode, ReplayFacts, ReplayOutcome, ReplayPlan, WindowSum};
use q2c_result::replay::{Flaw, InFlight, Lateness, ReplayTrial, ReplayWindow, Spread};

/// A timed replay whose end is late by this share and by `MIN_DELAY_S` saturated the device.
const MIN_DELAY_SHARE: f64 = 0.05;
const MIN_DELAY_S: f64 = 0.05;

/// The inputs of one trial.
pub(crate) struct TrialInputs<'a> {
    pub facts: &'a ReplayFacts,
    /// The plan with the targets of the trial's site.
    pub plan: &'a ReplayPlan,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// CPUs that other work kept busy, as [`super::ReplayRun::busy_cpus`].
    pub busy_cpus: Option<f64>,
}

pub(crate) fn trial(
    run: &TrialInputs<'_>,
    outcome: &ReplayOutcome,
    captured: Option<CaptureFigures>,
    stopped: bool,
) -> ReplayTrial {
    let completion_s = seconds(outcome.counts.end_ns.into());
    let own_lateness = lateness(&outcome.counts.own_lateness_ns);
    let invalid = flaws(run, outcome, &own_lateness, captured.as_ref(), stopped);
    let timed = matches!(run.plan.mode, Mode::Timed { .. });
    let counts = &outcome.counts;
    let is_captured = captured.is_some();
    let captured = captured.unwrap_or_default();
    let excess = captured.transfers.cast_signed() - counts.transfers.cast_signed();
    let reader_cpu_ns = u128::from(outcome.reader_cpu_ns) + u128::from(captured.cpu_ns);
    ReplayTrial {
        completion_s,
        sum_u2c_s: seconds(counts.sum_u2c_ns),
        sum_u2c_intended_s: seconds(counts.sum_u2c_intended_ns),
        sum_q2c_s: is_captured.then(|| seconds(captured.sum)),
        q2c_source: captured.by,
        q2c_ios: captured.q2c.count(),
        q2c_parts: captured.parts,
        q2c_excess: if is_captured { excess } else { 0 },
        q2c_lost: captured.lost,
        saturated: saturated(run, outcome),
        stalled: counts.held_up,
        stalled_s: seconds(counts.held_up_ns),
        lateness_ns: lateness(&counts.lateness_ns),
        own_lateness_ns: own_lateness,
        end_drift_ns: if timed { outcome.end_drift_ns() } else { 0 },
        issued: counts.issued,
        errors: counts.errors,
        first_error: outcome.first_error().map(str::to_owned),
        bytes: counts.bytes,
        valid: invalid.is_empty(),
        invalid,
        whole: outcome.complete && !stopped,
        u2c_ns: spread(&counts.u2c_ns),
        u2c_intended_ns: spread(&counts.u2c_intended_ns),
        q2c_ns: is_captured.then(|| spread(&captured.q2c)),
        idle_share: share(outcome.idle_ns as f64 / 1e9, completion_s),
        in_flight: in_flight(run, outcome, completion_s),
        order_inversions: counts.inversions,
        changed: outcome.changed.clone(),
        submission_s: seconds(counts.submission_ns.into()),
        submitter_cpu_s: seconds(counts.cpu_ns.into()),
        reader_cpu_s: seconds(reader_cpu_ns),
        windows: outcome.windows.iter().map(window).collect(),
    }
}

fn seconds(ns: u128) -> f64 {
    ns as f64 / 1e9
}

fn share(part: f64, whole: f64) -> f64 {
    let share = part / whole;
    if whole > 0.0 { share.min(1.0) } else { 0.0 }
}

fn saturated(run: &TrialInputs<'_>, outcome: &ReplayOutcome) -> bool {
    let (limit, counts) = (run.max_lateness.0 as f64, &outcome.counts);
    // Requests were late because submissions took long, not by the replayer's own fault.
    let slow_calls = counts.lateness_ns.percentile(0.99) > limit
        && counts.own_lateness_ns.percentile(0.99) <= limit;
    let was_held_up = counts.held_up > 0 || counts.capped > 0 || counts.blocked > 0 || slow_calls;
    let Mode::Timed { speed } = run.plan.mode else {
        return was_held_up;
    };
    let length_s = run.facts.length().as_secs_f64() / speed;
    let delay_s = seconds(outcome.counts.end_ns.into()) - length_s;
    let is_delayed = delay_s > MIN_DELAY_S && delay_s > MIN_DELAY_SHARE * length_s;
    was_held_up || outcome.complete && is_delayed
}

fn lateness(histogram: &Histogram) -> Lateness {
    Lateness {
        p50: histogram.percentile(0.5),
        p99: histogram.percentile(0.99),
        p999: histogram.percentile(0.999),
        max: histogram.greatest() as f64,
    }
}

fn curve_quantiles() -> impl Iterator<Item = f64> {
    let low = [0.0, 0.001, 0.01, 0.02];
    let middle = (1..20).map(|n| f64::from(n) * 0.05);
    let near_one = [0.96, 0.97, 0.98, 0.99, 0.995, 0.998];
    let high = near_one.into_iter().chain([0.999, 0.9995, 0.9999, 1.0]);
    low.into_iter().chain(middle).chain(high)
}

fn spread(histogram: &Histogram) -> Spread {
    let at = |q| histogram.percentile(q);
    let curve = curve_quantiles().map(|q| (q, at(q)));
    Spread {
        ios: histogram.count(),
        mean: histogram.mean(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.greatest() as f64,
        curve: curve.filter(|_| histogram.count() > 0).collect(),
    }
}

fn in_flight(run: &TrialInputs<'_>, outcome: &ReplayOutcome, completion_s: f64) -> InFlight {
    let facts = run.facts;
    let length_s = facts.time_to_last_end().as_secs_f64();
    let recorded_s = facts.latency_sum_ns as f64 / 1e9;
    let sum_s = seconds(outcome.counts.sum_u2c_ns);
    let has_time = completion_s > 0.0;
    let most_recorded = Some(outcome.counts.max_recorded);
    InFlight {
        mean: if has_time { sum_s / completion_s } else { 0.0 },
        most: outcome.counts.max_in_flight,
        recorded_mean: (facts.has_completions() && length_s > 0.0).then(|| recorded_s / length_s),
        recorded_most: most_recorded.filter(|most| outcome.profiled && *most > 0),
        error: outcome.in_flight_error(),
    }
}

fn window(sum: &WindowSum) -> ReplayWindow {
    ReplayWindow {
        from_s: seconds(sum.from_ns.into()),
        length_s: seconds(sum.length_ns.into()),
        recorded_ios: sum.recorded_ios,
        ios: sum.ios,
        recorded_in_flight: sum.recorded_in_flight,
        in_flight: sum.in_flight,
        latest_ns: sum.max_late_ns,
        sum_u2c_s: seconds(sum.sum_u2c_ns),
    }
}

/// The trial with the median of `number` among the valid trials, or among all if none is valid.
pub(crate) fn median_trial(
    trials: &[ReplayTrial],
    number: impl Fn(&ReplayTrial) -> f64,
) -> Option<&ReplayTrial> {
    let any_valid = trials.iter().any(|trial| trial.valid);
    let usable = trials.iter().filter(|trial| trial.valid || !any_valid);
    let mut usable: Vec<&ReplayTrial> = usable.collect();
    usable.sort_by(|a, b| number(a).total_cmp(&number(b)));
    // An even number has two middle trials, of which the lower one is taken.
    usable.get(usable.len().saturating_sub(1) / 2).copied()
}

/// The reasons against comparing a trial; empty if there are none.
pub(super) fn flaws(
    run: &TrialInputs<'_>,
    outcome: &ReplayOutcome,
    own_lateness: &Lateness,
    captured: Option<&CaptureFigures>,
    stopped: bool,
) -> Vec<Flaw> {
    let mut reasons = Vec::new();
    let counts = &outcome.counts;
    if stopped || !outcome.complete && counts.errors == 0 {
        reasons.push(Flaw::Stopped);
    }
    if counts.errors > 0 {
        reasons.push(Flaw::Failed {
            requests: counts.errors,
            first: outcome.first_error().unwrap_or_default().to_owned(),
        });
    }
    if is_replayer_bound(run, outcome) {
        reasons.push(Flaw::ReplayerBound);
    }
    reasons.extend(captured.and_then(|captured| partial_capture(outcome, captured)));
    if own_lateness.p99 > run.max_lateness.0 as f64 {
        reasons.push(Flaw::Late {
            p99_ns: own_lateness.p99,
            allowed: run.max_lateness,
            spare_cpus: q2c_replay::has_spare_cpus(run.plan),
            spin: run.plan.spin,
            busy_cpus: run.busy_cpus,
        });
    }
    reasons.extend(captured.and_then(capture_loss));
    reasons
}

/// True if an outstanding replay ran on a device that is faster than the replayer.
fn is_replayer_bound(run: &TrialInputs<'_>, outcome: &ReplayOutcome) -> bool {
    let counts = &outcome.counts;
    let threads = run.plan.threads() as f64;
    let hardly_waited = (counts.waited_ns as f64) < 0.05 * threads * counts.end_ns as f64;
    let outstanding = matches!(run.plan.mode, Mode::Outstanding { .. });
    // If requests waited for a free slot, the cap kept fewer in flight, not the replayer.
    outstanding
        && hardly_waited
        && counts.capped == 0
        && outcome.in_flight_error().is_some_and(|error| error > 0.5)
}

/// Returns `None` if the capture saw 99 % of reads and writes. It may never see other requests.
fn partial_capture(outcome: &ReplayOutcome, captured: &CaptureFigures) -> Option<Flaw> {
    let expected = outcome.counts.transfers;
    let seen = captured.transfers + captured.lost;
    (seen * 100 < expected * 99).then_some(Flaw::PartlyCaptured { seen, expected })
}

/// Returns `None` if the capture lost at most 1 % of the I/Os: then the sum counts as correct.
fn capture_loss(captured: &CaptureFigures) -> Option<Flaw> {
    let (lost, summed) = (captured.lost, captured.q2c.count());
    let seen = lost + summed;
    (lost * 100 > summed).then_some(Flaw::CaptureLost { lost, seen })
}

/// Own lateness at p99, ns, if it is the only reason why the trial is invalid.
pub(super) fn sole_lateness_ns(trial: &ReplayTrial) -> Option<f64> {
    match trial.invalid.as_slice() {
        [Flaw::Late { p99_ns, .. }] if trial.whole && trial.errors == 0 => Some(*p99_ns),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;

    #[test]
    fn only_a_trial_that_was_late_and_nothing_else_is_repeated() {
        let late = || Flaw::Late {
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
        assert_eq!(sole_lateness_ns(&trial(vec![late()])), Some(2e6));
        assert_eq!(sole_lateness_ns(&trial(Vec::new())), None);
        let lost = Flaw::CaptureLost { lost: 2, seen: 9 };
        assert_eq!(sole_lateness_ns(&trial(vec![late(), lost])), None);
        let mut stopped = trial(vec![late()]);
        stopped.whole = false;
        assert_eq!(sole_lateness_ns(&stopped), None);
    }
}

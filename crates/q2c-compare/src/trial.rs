//! Turns the outcome of one replay into a trial of the result.

use super::capture::Captured;
use super::validity::invalid;
use q2c_model::Nanos;
use q2c_model::stats::Histogram;
use q2c_replay::{Mode, ReplayFacts, ReplayOutcome, ReplayPlan, WindowSum};
use q2c_result::replay::{InFlight, Lateness, ReplayTrial, ReplayWindow, Spread};

/// A timed replay that ends later by this share and `BEHIND_S` shows a saturated device.
const BEHIND: f64 = 0.05;
const BEHIND_S: f64 = 0.05;

/// The inputs of one trial.
pub(crate) struct TrialInputs<'a> {
    pub facts: &'a ReplayFacts,
    /// The plan with the targets of the trial's site.
    pub plan: &'a ReplayPlan,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// CPUs that other work kept busy, as [`super::Replaying::busy_cpus`].
    pub busy_cpus: Option<f64>,
}

pub(crate) fn trial(
    run: &TrialInputs<'_>,
    outcome: &ReplayOutcome,
    captured: Option<Captured>,
    stopped: bool,
) -> ReplayTrial {
    let completion_s = seconds(outcome.counts.end_ns.into());
    let own_lateness = lateness(&outcome.counts.own_lateness_ns);
    let invalid = invalid(run, outcome, &own_lateness, captured.as_ref(), stopped);
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
    // Requests were late, and not by the replayer's own fault: submissions took so long.
    let slow = counts.lateness_ns.percentile(0.99) > limit
        && counts.own_lateness_ns.percentile(0.99) <= limit;
    let held = counts.held_up > 0 || counts.capped > 0 || counts.blocked > 0 || slow;
    let Mode::Timed { speed } = run.plan.mode else {
        return held;
    };
    let length = run.facts.length().as_secs_f64() / speed;
    let behind = seconds(outcome.counts.end_ns.into()) - length;
    held || outcome.complete && behind > BEHIND_S && behind > BEHIND * length
}

fn lateness(histogram: &Histogram) -> Lateness {
    Lateness {
        p50: histogram.percentile(0.5),
        p99: histogram.percentile(0.99),
        p999: histogram.percentile(0.999),
        max: histogram.greatest() as f64,
    }
}

fn shares() -> impl Iterator<Item = f64> {
    let low = [0.0, 0.001, 0.01, 0.02];
    let middle = (1..20).map(|n| f64::from(n) * 0.05);
    let high = [
        0.96, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1.0,
    ];
    low.into_iter().chain(middle).chain(high)
}

fn spread(histogram: &Histogram) -> Spread {
    let at = |q| histogram.percentile(q);
    let curve = shares().map(|q| (q, at(q)));
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
    let whole = facts.time_to_last_end().as_secs_f64();
    let recorded = facts.latency_sum_ns as f64 / 1e9;
    let sum_s = seconds(outcome.counts.sum_u2c_ns);
    let has_time = completion_s > 0.0;
    InFlight {
        mean: if has_time { sum_s / completion_s } else { 0.0 },
        most: outcome.counts.most_in_flight,
        recorded_mean: (facts.has_completions() && whole > 0.0).then(|| recorded / whole),
        recorded_most: (outcome.profiled && outcome.counts.most_recorded > 0)
            .then_some(outcome.counts.most_recorded),
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
        latest_ns: sum.latest_ns,
        sum_u2c_s: seconds(sum.sum_u2c_ns),
    }
}

/// The trial with the median number, of the valid ones if there are any.
pub(crate) fn median(
    trials: &[ReplayTrial],
    number: impl Fn(&ReplayTrial) -> f64,
) -> Option<&ReplayTrial> {
    let any_valid = trials.iter().any(|trial| trial.valid);
    let some = trials.iter().filter(|trial| trial.valid || !any_valid);
    let mut some: Vec<&ReplayTrial> = some.collect();
    some.sort_by(|a, b| number(a).total_cmp(&number(b)));
    // An even count has two middle trials; the lower one is taken.
    some.get(some.len().saturating_sub(1) / 2).copied()
}

//! Notes on cells whose numbers alone mislead: why rules behave as they do.

use super::answer::{param, recovers};
use super::source::SimTrace;
use super::sweep::Study;
use q2c_model::Nanos;
use q2c_policy::PolicySpec;
use q2c_sim::SimOutcome;

const MOST: usize = 3;
/// Miss rate from which a rule of a share counts as held up by its own oversleep.
const STUCK: f64 = 0.5;
/// Miss rates that come from the constants of a feedback rule rather than from the device.
const PINNED: std::ops::RangeInclusive<f64> = 0.15..=0.25;
/// io_uring's rule sleeps half its estimate, which settles at half of a constant latency.
const URING: f64 = 0.25;

pub(super) fn notes(study: &Study<'_>, trace: &SimTrace, cells: &[SimOutcome]) -> Vec<String> {
    let configurations: Vec<(&PolicySpec, &SimOutcome)> =
        study.policies.iter().zip(cells).collect();
    let of_kind = |note: &dyn Fn(&PolicySpec, &SimOutcome) -> Option<String>| -> Vec<String> {
        let mut texts: Vec<String> = configurations
            .iter()
            .filter_map(|(p, o)| note(p, o))
            .collect();
        let more = texts.len().saturating_sub(MOST);
        texts.truncate(MOST);
        if more > 0 {
            texts.push(format!("(the same of {more} more configurations)"));
        }
        texts
    };
    [
        of_kind(&|p, o| never_updated(study, trace, p, o)),
        of_kind(&|p, o| stuck(study, trace, p, o)),
        of_kind(&|p, o| pinned(p, o)),
        of_kind(&|p, o| ratchet(trace, p, o)),
    ]
    .concat()
}

fn never_updated(
    study: &Study<'_>,
    trace: &SimTrace,
    policy: &PolicySpec,
    outcome: &SimOutcome,
) -> Option<String> {
    let period = param(policy, "period")?;
    let drive = study.configuration_on(trace).drive;
    let whole = drive.warm_up + drive.measure;
    (outcome.gives.rates.effective_sleep_ns == 0.0 && period >= whole.0 as f64).then(|| {
        format!(
            "{policy} never slept: {whole} were simulated, and its window is {}; no window closed, so there was no statistic yet",
            Nanos(period as u64)
        )
    })
}

fn stuck(
    study: &Study<'_>,
    trace: &SimTrace,
    policy: &PolicySpec,
    outcome: &SimOutcome,
) -> Option<String> {
    if outcome.gives.rates.miss_rate < STUCK {
        return None;
    }
    let reason = recovers(study, trace, policy);
    (!reason.is_empty()).then(|| {
        format!(
            "{:.1} % of the I/Os missed, {} asked on average: {reason}",
            outcome.gives.rates.miss_rate * 100.0,
            Nanos(outcome.gives.rates.effective_sleep_ns as u64)
        )
    })
}

/// The miss rate at which the steps `up` and `down` balance is the same on any device.
fn pinned(policy: &PolicySpec, outcome: &SimOutcome) -> Option<String> {
    (policy.rule().name == "pas" && PINNED.contains(&outcome.gives.rates.miss_rate)).then(|| {
        format!(
            "{policy} missed {:.1} %: its steps up and down balance at such a rate whatever the device; each miss is short \
             ({:.1} % of the device's time is lost), since the sleep overshoots by a few per cent",
            outcome.gives.rates.miss_rate * 100.0,
            outcome.gives.t_over * 100.0
        )
    })
}

fn ratchet(trace: &SimTrace, policy: &PolicySpec, outcome: &SimOutcome) -> Option<String> {
    let share = outcome.gives.rates.effective_sleep_ns / trace.input.latency_ns[2];
    (policy.rule().name == "uring" && share < URING * 1.1).then(|| {
        let least = trace.input.latency_ns[0];
        format!(
            "{policy} slept {:.1} % of the median latency: its estimate only ever falls, to the least of runtime less sleep (fastest I/O: {}), \
             and half of it is slept; on constant latency that is a quarter",
            share * 100.0,
            Nanos(least as u64)
        )
    })
}

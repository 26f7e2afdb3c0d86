//! Notes on cells whose numbers alone mislead, with the reason why a rule behaves so, and warnings
//! of reads and writes that are not simulated.

use super::answer::{param_value, stability_note};
use super::source::SimTrace;
use super::sweep::Study;
use q2c_model::{LeftOutReason, Nanos};
use q2c_policy::PolicySpec;
use q2c_result::Warning;
use q2c_result::sweep::SweepInput;
use q2c_sim::SimOutcome;

/// The largest number of configurations that one kind of note names.
const MAX_NOTES: usize = 3;
/// Miss rate from which a rule that sleeps a share counts as trapped by its own oversleep.
const STUCK_MISS_RATE: f64 = 0.5;
/// Miss rates that result from the constants of a feedback rule instead of from the device.
const PINNED_MISS_RATES: std::ops::RangeInclusive<f64> = 0.15..=0.25;
/// Share of a constant latency that io_uring's rule sleeps: half its estimate, which is half the
/// latency.
const URING_SHARE: f64 = 0.25;

pub(super) fn notes(study: &Study<'_>, trace: &SimTrace, cells: &[SimOutcome]) -> Vec<String> {
    let configurations: Vec<(&PolicySpec, &SimOutcome)> =
        study.policies.iter().zip(cells).collect();
    let notes_of = |note: &dyn Fn(&PolicySpec, &SimOutcome) -> Option<String>| -> Vec<String> {
        let texts = configurations.iter().filter_map(|(p, o)| note(p, o));
        let mut texts: Vec<String> = texts.collect();
        let omitted = texts.len().saturating_sub(MAX_NOTES);
        texts.truncate(MAX_NOTES);
        if omitted > 0 {
            texts.push(format!("(the same of {omitted} more configurations)"));
        }
        texts
    };
    [
        notes_of(&|p, o| never_slept_note(study, trace, p, o)),
        notes_of(&|p, o| stuck_note(study, trace, p, o)),
        notes_of(&|p, o| pinned_note(p, o)),
        notes_of(&|p, o| ratchet_note(trace, p, o)),
    ]
    .concat()
}

fn never_slept_note(
    study: &Study<'_>,
    trace: &SimTrace,
    policy: &PolicySpec,
    outcome: &SimOutcome,
) -> Option<String> {
    let period = param_value(policy, "period")?;
    let drive = study.configuration_on(trace).drive;
    let total = drive.warm_up + drive.measure;
    (outcome.gives.rates.effective_sleep_ns == 0.0 && period >= total.0 as f64).then(|| {
        format!(
            "{policy} never slept: {total} were simulated, and its window is {}; no window closed, so there was no statistic yet",
            Nanos(period as u64)
        )
    })
}

fn stuck_note(
    study: &Study<'_>,
    trace: &SimTrace,
    policy: &PolicySpec,
    outcome: &SimOutcome,
) -> Option<String> {
    if outcome.gives.rates.miss_rate < STUCK_MISS_RATE {
        return None;
    }
    let reason = stability_note(study, trace, policy);
    (!reason.is_empty()).then(|| {
        format!(
            "{:.1} % of the I/Os missed, {} asked on average: {reason}",
            outcome.gives.rates.miss_rate * 100.0,
            Nanos(outcome.gives.rates.effective_sleep_ns as u64)
        )
    })
}

/// The steps `up` and `down` of the rule balance at the same miss rate on any device.
fn pinned_note(policy: &PolicySpec, outcome: &SimOutcome) -> Option<String> {
    (policy.rule().name == "pas" && PINNED_MISS_RATES.contains(&outcome.gives.rates.miss_rate)).then(|| {
        format!(
            "{policy} missed {:.1} %: its steps up and down balance at such a rate whatever the device; each miss is short \
             ({:.1} % of the device's time is lost), since the sleep overshoots by a few per cent",
            outcome.gives.rates.miss_rate * 100.0,
            outcome.gives.t_over * 100.0
        )
    })
}

fn ratchet_note(trace: &SimTrace, policy: &PolicySpec, outcome: &SimOutcome) -> Option<String> {
    let [fastest, _, p50, ..] = trace.input.latency_ns;
    let share = outcome.gives.rates.effective_sleep_ns / p50;
    (policy.rule().name == "uring" && share < URING_SHARE * 1.1).then(|| {
        format!(
            "{policy} slept {:.1} % of the median latency: its estimate only ever falls, to the least of runtime less sleep (fastest I/O: {}), \
             and half of it is slept; on constant latency that is a quarter",
            share * 100.0,
            Nanos(fastest as u64)
        )
    })
}

/// Share of reads and writes that are not simulated, above which a warning reports them.
const MAX_LEFT_OUT: f64 = 0.01;

/// Warnings of reads and writes whose times fall, or whose start or end is not in the recording.
pub(crate) fn left_out_warnings(inputs: &[&SweepInput]) -> Vec<Warning> {
    let number_of = |reason: LeftOutReason| -> u64 {
        let inputs = inputs.iter();
        let counts = inputs.filter_map(|input| input.taken_as.left_out.get(&reason));
        counts.sum()
    };
    let simulated: u64 = inputs.iter().map(|input| input.ios).sum();
    let falling = number_of(LeftOutReason::Disordered);
    let falling = (falling > 0).then(|| {
        Warning::new(
            "times-fall",
            format!("the times of {falling} requests fall; {simulated} were simulated"),
            "a clock was set back, CPUs' clocks differ, or several recordings were joined: the think times \
             around the requests left out are too long",
            "record with one clock (blktrace -a, q2c trace record)",
        )
    });
    let [unended, unbegun] = [LeftOutReason::NoCompletion, LeftOutReason::NoBegin].map(number_of);
    let failed = number_of(LeftOutReason::Failed);
    let left_out = unended + unbegun + failed;
    let many = left_out as f64 > MAX_LEFT_OUT * (left_out + simulated) as f64;
    let left_out = many.then(|| {
        Warning::new(
            "left-out",
            format!(
                "{left_out} of {} reads and writes were left out: {unended} without a completion, {unbegun} without a begin, \
                 {failed} failed",
                left_out + simulated
            ),
            "the slowest ones may be among them, and the think times around them are too long",
            "record until the device is idle, with larger buffers",
        )
    });
    falling.into_iter().chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(reasons: &[(LeftOutReason, u64)]) -> Vec<String> {
        let input = |ios| SweepInput {
            ios,
            ..SweepInput::default()
        };
        let (mut input, other) = (input(900), input(90));
        input.taken_as.left_out = reasons.iter().copied().collect();
        left_out_warnings(&[&input, &other])
            .into_iter()
            .map(|warning| warning.found)
            .collect()
    }

    /// 10 of 1,000 reads and writes are not many; 11 of 1,001 are.
    #[test]
    fn many_without_an_end_are_told_and_flushes_are_not() {
        let few = [
            (LeftOutReason::NeitherReadNorWrite, 500),
            (LeftOutReason::NoCompletion, 10),
        ];
        assert!(findings(&few).is_empty());
        let many = [
            (LeftOutReason::NoCompletion, 6),
            (LeftOutReason::NoBegin, 3),
            (LeftOutReason::Failed, 2),
        ];
        let expected = "11 of 1001 reads and writes were left out: 6 without a completion, 3 without a begin, 2 failed";
        assert_eq!(findings(&many), [expected]);
        let fall = findings(&[(LeftOutReason::Disordered, 1)]);
        assert_eq!(fall, ["the times of 1 requests fall; 990 were simulated"]);
    }
}

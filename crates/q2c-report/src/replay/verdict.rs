//! The answer of a comparison in words.

use super::invalid;
use q2c_model::replay::Idle;
use q2c_result::compare::{CompareFinding, CompareMetric, NoneValid, WorkDone};
use q2c_stats::Ratio;

/// The name of a metric.
pub(crate) fn metric(metric: CompareMetric) -> &'static str {
    match metric {
        CompareMetric::CompletionTime => "completion time",
        CompareMetric::SumQ2c => "sum of Q2C",
        CompareMetric::SumU2c => "sum of U2C",
    }
}

/// The answer, one sentence for each finding.
pub(crate) fn verdict(findings: &[CompareFinding]) -> Vec<String> {
    findings.iter().map(sentence).collect()
}

fn sentence(finding: &CompareFinding) -> String {
    match finding {
        CompareFinding::WorkDiffers {
            device,
            with,
            did,
            with_did,
        } => work_differs([device, with], [*did, *with_did]),
        CompareFinding::Better {
            device,
            than,
            metric: by,
            ratio,
        } => {
            let (by, ratio) = (metric(*by), interval(ratio));
            format!("{device} serves this trace better: its {by} is {ratio} of that of {than}")
        }
        CompareFinding::Alike {
            device,
            with,
            metric,
            ratio,
        } => alike([device, with], *metric, ratio),
        CompareFinding::FewTrials {
            device,
            with,
            metric,
        } => few_trials([device, with], *metric),
        CompareFinding::TimeSeparates {
            device,
            with,
            ratio,
            sum_separates,
            overloaded,
        } => {
            let as_well = if *sum_separates { " as well" } else { "" };
            let ratio = interval(ratio);
            let overloaded = overloads(overloaded);
            format!(
                "completion time separates them{as_well}: \
                 ratio of {device} to {with} {ratio}{overloaded}"
            )
        }
        CompareFinding::TimeCannotTell {
            device,
            with,
            ratio,
            device_idle,
            with_idle,
        } => {
            let [idle, with_idle] = [*device_idle, *with_idle].map(percent);
            format!(
                "completion time cannot tell (ratio {:.4}): \
                 the trace leaves {with} idle {with_idle} and {device} {idle} of the time",
                ratio.ratio
            )
        }
        CompareFinding::TraceIdles { share, idle } => trace_idles(*share, *idle),
        CompareFinding::SumsOfU2c { some_have_q2c } => sums_of_u2c(*some_have_q2c).to_owned(),
        CompareFinding::NoValidTrial { device, why } => {
            format!("{device} has no valid trial: {}", none_valid(why))
        }
        CompareFinding::Told(words) => words.clone(),
    }
}

fn work_differs([device, with]: [&String; 2], done: [WorkDone; 2]) -> String {
    let [did, with_did] = done.map(|done| (done.requests, done.bytes >> 20));
    format!(
        "{device} and {with} cannot be compared: they did not do the same work, \
         {} requests of {} MiB against {} of {} MiB; \
         see what was changed, and name targets of one size or other --offsets",
        did.0, did.1, with_did.0, with_did.1
    )
}

fn alike([device, with]: [&String; 2], by: CompareMetric, ratio: &Ratio) -> String {
    let (name, ratio) = (metric(by), interval(ratio));
    match by {
        CompareMetric::CompletionTime => format!("{name} does not separate them: ratio {ratio}"),
        _ => format!("{device} and {with} cannot be told apart by their {name}: ratio {ratio}"),
    }
}

fn few_trials([device, with]: [&String; 2], by: CompareMetric) -> String {
    let their = match by {
        CompareMetric::CompletionTime => "",
        _ => "their ",
    };
    format!(
        "{device} and {with} cannot be compared by {their}{}: fewer than two valid trials each",
        metric(by)
    )
}

/// The devices that the trace overloads, as the end of a sentence; empty when there is none.
fn overloads(devices: &[String]) -> String {
    match devices {
        [] => String::new(),
        some => format!("; the trace overloads {}", some.join(" and ")),
    }
}

fn trace_idles(share: f64, idle: Idle) -> String {
    let share = percent(share);
    match idle {
        Idle::Squeeze => format!(
            "outstanding replay does not reproduce a trace that idles: \
             its devices have nothing in flight {share} of their time, \
             which was left out; timed replay reproduces it"
        ),
        Idle::Keep => format!(
            "outstanding replay: the trace's devices have nothing in flight {share} of their time, \
             which was kept"
        ),
    }
}

fn sums_of_u2c(some_have_q2c: bool) -> &'static str {
    match some_have_q2c {
        true => "sums are of U2C: not every device has a valid sum of Q2C",
        false => {
            "sums are of U2C, what the replayer sees; \
             the block layer's sum of Q2C needs --capture and devices of the kernel's"
        }
    }
}

fn none_valid(why: &NoneValid) -> String {
    match why {
        NoneValid::Invalid(why) => invalid::says(why),
        NoneValid::Failed(error) => error.clone(),
        NoneValid::NotRun => "none was run".to_owned(),
    }
}

/// A ratio with its interval: `0.250 [0.240, 0.260]`.
fn interval(of: &Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", of.ratio, of.low, of.high)
}

/// A share in whole percent: `95 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests;

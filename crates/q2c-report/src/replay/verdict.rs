//! The answer of a comparison in words.

use super::trial;
use crate::phrase::{listed, when};
use crate::quantity::count;
use q2c_model::replay::{Idle, Writes};
use q2c_model::stats::{CLEAR_TRIALS, Ratio};
use q2c_result::compare::{
    CompareFinding, CompareMetric, NoValidReason, NotCaptured, Overall, WorkDone,
};

pub(crate) fn metric(metric: CompareMetric) -> &'static str {
    match metric {
        CompareMetric::CompletionTime => "completion time",
        CompareMetric::SumQ2c => "sum of Q2C",
        CompareMetric::SumU2c => "sum of U2C",
    }
}

pub(crate) fn verdict(findings: &[CompareFinding]) -> Vec<String> {
    let only_reads = |finding: &CompareFinding| matches!(finding, CompareFinding::ReadsOnly { .. });
    let scope = when(findings.iter().any(only_reads), " (reads only)");
    let sentence = |finding| finding_sentence(finding, scope);
    findings.iter().map(sentence).collect()
}

/// One device compared with the first one, over all comparisons.
pub(crate) fn overall(overall: &Overall) -> String {
    let Overall { device, with, .. } = overall;
    let total = overall.better + overall.worse + overall.alike + overall.unknown;
    let better = overall.better;
    let better = format!("{device} serves {better} of {total} comparisons better");
    let mut parts = vec![better, format!("{with} {}", overall.worse)];
    parts.extend((overall.alike > 0).then(|| format!("both are alike in {}", overall.alike)));
    parts.extend((overall.unknown > 0).then(|| format!("{} without an answer", overall.unknown)));
    let sums = match overall.by_u2c {
        0 => "sums of Q2C".to_owned(),
        n if n == total => "sums of U2C".to_owned(),
        n => format!("sums of U2C in {n}, of Q2C in the others"),
    };
    let scope = match overall.reads_only {
        0 => String::new(),
        n if n == total => " (reads only)".to_owned(),
        n => format!(" (reads only in {n})"),
    };
    format!("{}. Judged by {sums}{scope}", listed(parts))
}

/// The sentence of a finding. `scope` is a suffix that names its part of the trace, if not the
/// whole.
fn finding_sentence(finding: &CompareFinding, scope: &str) -> String {
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
            let (by, ratio) = (metric(*by), ratio_text(ratio));
            let answer = format!("its {by} is {ratio} of that of {than}");
            format!("{device} serves this trace better{scope}: {answer}")
        }
        CompareFinding::Alike {
            device,
            with,
            metric,
            ratio,
        } => tie([device, with], *metric, &ratio_text(ratio), scope),
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
            let as_well = when(*sum_separates, " as well");
            let overloads = when(!overloaded.is_empty(), "; the trace overloads ");
            let (ratio, overloaded) = (ratio_text(ratio), overloaded.join(" and "));
            format!(
                "completion time separates them{as_well}: \
                 ratio of {device} to {with} {ratio}{overloads}{overloaded}"
            )
        }
        CompareFinding::FewToBeSure { trials, chance } => format!(
            "trials are few: with {trials} of each, two equal devices come apart like this in \
             {:.0} % of the cases. --trials {CLEAR_TRIALS} or more tells more",
            chance * 100.0
        ),
        CompareFinding::OneDisk { device, with, disk } => format!(
            "{device} and {with} lie on one disk, {disk}: a difference is that of their places on it, \
             or of the moments of the trials"
        ),
        CompareFinding::TimeCannotTell {
            device,
            with,
            ratio,
            device_idle,
            with_idle,
        } => time_cannot_tell([device, with], ratio, [*device_idle, *with_idle]),
        CompareFinding::TraceIdles { share, idle } => idle_sentence(&percent(*share), *idle),
        CompareFinding::SumsOfU2c {
            some_have_q2c: true,
            ..
        } => "sums are of U2C: not every device has a valid sum of Q2C".to_owned(),
        CompareFinding::SumsOfU2c { not_captured, .. } => u2c_sentence(not_captured.as_ref()),
        CompareFinding::ReadsOnly { writes, treatment } => reads_only(*writes, *treatment),
        CompareFinding::TermsDiffer {
            device,
            requests,
            excess,
        } => format!(
            "the sum of Q2C of {device} is not one by request: for {} requests it has {}",
            count(*requests),
            trial::excess_text(*excess)
        ),
        CompareFinding::NoValidTrial { device, why } => no_valid_trial(device, why),
    }
}

fn tie([device, with]: [&String; 2], by: CompareMetric, ratio: &str, scope: &str) -> String {
    let name = metric(by);
    match by {
        CompareMetric::CompletionTime => format!("{name} does not separate them: ratio {ratio}"),
        _ => format!(
            "{device} and {with} cannot be told apart by their {name}{scope}: ratio {ratio}"
        ),
    }
}

fn few_trials([device, with]: [&String; 2], by: CompareMetric) -> String {
    let their = when(by != CompareMetric::CompletionTime, "their ");
    let few = format!("{their}{}: fewer than two valid trials each", metric(by));
    format!("{device} and {with} cannot be compared by {few}")
}

fn time_cannot_tell([device, with]: [&String; 2], ratio: &Ratio, idle: [f64; 2]) -> String {
    let [idle, with_idle] = idle.map(percent);
    format!(
        "completion time cannot tell (ratio {:.4}): the trace leaves {with} idle {with_idle} and \
         {device} {idle} of the time, which timed replay keeps. --mode outstanding leaves idle time \
         out, so it compares them by completion time",
        ratio.ratio
    )
}

fn reads_only(writes: u64, treatment: Writes) -> String {
    let skipped = treatment == Writes::Skip;
    let how = if skipped { "left out" } else { "read instead" };
    let writes = count(writes);
    format!("reads only: {writes} writes of the trace were {how}")
}

fn no_valid_trial(device: &str, cause: &NoValidReason) -> String {
    let reason = match cause {
        NoValidReason::Invalid(reason) => trial::invalid_reason(reason),
        NoValidReason::Failed(error) => error.clone(),
        NoValidReason::NotRun => "none was run".to_owned(),
    };
    format!("{device} has no valid trial: {reason}")
}

fn work_differs([device, with]: [&String; 2], done: [WorkDone; 2]) -> String {
    let [(did, mib), (with_did, with_mib)] = done.map(|done| (done.requests, done.bytes >> 20));
    format!(
        "{device} and {with} cannot be compared: they did not do the same work, \
         {did} requests of {mib} MiB against {with_did} of {with_mib} MiB. \
         See what was changed, and name targets of one size or other --offsets"
    )
}

fn idle_sentence(share: &str, idle: Idle) -> String {
    match idle {
        Idle::Squeeze => format!(
            "outstanding replay keeps the number in flight and leaves out the time with nothing \
             in flight, {share} of the trace's. Completion time compares how fast the devices do \
             the work without its pauses. With the pauses, --mode timed compares their sums of \
             latencies"
        ),
        Idle::Keep => format!(
            "outstanding replay: the trace's devices have nothing in flight {share} of their time, \
             which was kept"
        ),
    }
}

/// Says at the start of a run that sums will be of U2C, and why nothing is captured.
#[must_use]
pub fn not_captured(reason: &NotCaptured) -> String {
    u2c_sentence(Some(reason))
}

fn u2c_sentence(not_captured: Option<&NotCaptured>) -> String {
    let reason = match not_captured {
        None => ". The block layer's sum of Q2C needs --capture and devices of the kernel's",
        Some(NotCaptured::NotAsked) => ": the capture of the block layer was switched off",
        Some(NotCaptured::NoDisk(device)) => {
            &format!(": {device} has no disk of the kernel's that could be captured")
        }
        Some(NotCaptured::Refused(error)) => {
            &format!(": the block layer cannot be captured here, {error}")
        }
    };
    format!("sums are of U2C, what the replayer sees{reason}")
}

/// A ratio with its interval: `0.250 [0.240, 0.260]`.
fn ratio_text(ratio: &Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", ratio.ratio, ratio.low, ratio.high)
}

/// A share in whole percent: `95 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests;

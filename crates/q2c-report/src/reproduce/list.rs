//! The list of experiments in words.

use crate::phrase::{counted, some_listed};
use crate::quantity::{or_nothing, seconds};
use q2c_result::reproduce::{ListResult, ListedExperiment, ListedNeed, NeedKind};

/// Lengths below this are not told, seconds.
const TOLD_S: f64 = 1.0;

pub(crate) fn here(experiment: &ListedExperiment) -> String {
    let (total, open) = (experiment.claims, experiment.depend_on_target);
    let claims = counted(total, "claim");
    match experiment.judgeable {
        n if n == total => "all".to_owned(),
        0 if open == total => "depends on the target".to_owned(),
        0 if open > 0 => format!("{open} of {claims}, by the target"),
        0 => {
            let lack = experiment.needs.iter().find(|need| need.met == Some(false));
            format!("none: {}", or_nothing(lack.map(short)))
        }
        n if open > 0 => format!("{n} of {claims}, {open} by the target"),
        n => format!("{n} of {claims}"),
    }
}

/// A need in few words, with what there is where that is a number or a version.
fn short(need: &ListedNeed) -> String {
    // What follows a version is the name of a build.
    let version = need.present.split('-').next().unwrap_or_default();
    match need.what {
        NeedKind::Cpus | NeedKind::ThreadsPerCore | NeedKind::NumaNodes | NeedKind::HwQueues => {
            format!("{} ({} here)", words(need), need.present)
        }
        NeedKind::Kernel => format!("{} ({version} here)", words(need)),
        NeedKind::Other => {
            let needed = need.needed.split(" with ").next();
            needed.unwrap_or_default().to_owned()
        }
        _ => words(need),
    }
}

fn words(need: &ListedNeed) -> String {
    let needed = &need.needed;
    let some = |what: &str| match needed.as_str() {
        "1" => format!("1 {what}"),
        _ => format!("{needed} {what}s"),
    };
    match need.what {
        NeedKind::Cpus => some("CPU"),
        NeedKind::ThreadsPerCore => format!("{} per core", some("thread")),
        NeedKind::NumaNodes => some("NUMA node"),
        NeedKind::HwQueues => some("hardware queue"),
        NeedKind::Kernel => format!("Linux {needed}"),
        NeedKind::PollQueues => "poll queues".to_owned(),
        NeedKind::Module => format!("the module {needed}"),
        NeedKind::Spdk => "SPDK".to_owned(),
        NeedKind::Capture => "block-layer capture".to_owned(),
        NeedKind::Device | NeedKind::FileSystem | NeedKind::Other => needed.clone(),
    }
}

/// The needs of an experiment: those that there are, those that are lacking, and those of which the
/// target decides.
pub(crate) fn needs(experiment: &ListedExperiment) -> Vec<String> {
    let needs = &experiment.needs;
    let met = |met: Option<bool>| needs.iter().filter(move |n| n.met == met).map(words);
    let target = experiment.takes_target.then(|| "a target".to_owned());
    let needs = some_listed(target.into_iter().chain(met(Some(true))));
    let (lacks, open) = (some_listed(met(Some(false))), some_listed(met(None)));
    let clauses = [
        ("needs", needs),
        ("lacks", lacks),
        ("the target decides on", open),
    ];
    let some = clauses.into_iter();
    some.filter_map(|(what, names)| Some(format!("{what} {}", names?)))
        .collect()
}

pub(crate) fn takes(experiment: &ListedExperiment) -> String {
    match experiment.seconds {
        None => "not known".to_owned(),
        Some(s) if s < TOLD_S => "< 1 s".to_owned(),
        Some(s) => seconds(s),
    }
}

pub(crate) fn sum(result: &ListResult) -> String {
    let unknown = result.experiments.iter().filter(|e| e.seconds.is_none());
    let unknown = match unknown.count() {
        0 => "",
        1 => "; the length of 1 is not known",
        n => &format!("; the lengths of {n} are not known"),
    };
    let scale = result.scale;
    let extent = match (scale == 1.0, result.trials) {
        (true, None) => "At full length, with the trials of the files",
        (true, Some(n)) => &format!("At full length, with {n} trials of each point"),
        (false, None) => &format!("With all times multiplied by {scale}"),
        (false, Some(n)) => {
            &format!("With all times multiplied by {scale} and {n} trials of each point")
        }
    };
    let (experiments, time) = (result.experiments.len(), seconds(result.seconds));
    let take = format!("{experiments} experiments take about {time}");
    format!("{take}, beside the time to prepare the target{unknown}. {extent}.")
}

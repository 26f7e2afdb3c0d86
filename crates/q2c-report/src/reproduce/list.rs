//! The list of experiments in words.

use crate::quantity::{NOTHING, seconds};
use q2c_result::reproduce::{ListResult, ListedExperiment, ListedNeed, NeedKind};

/// Lengths below this are not told, seconds.
const TOLD_S: f64 = 1.0;

/// What can be judged of an experiment here.
pub(crate) fn here(of: &ListedExperiment) -> String {
    let claims = |n: u32| if n == 1 { "claim" } else { "claims" };
    let (all, open) = (of.claims, of.depend_on_target);
    match of.judgeable {
        n if n == all => "all".to_owned(),
        0 if open == all => "depends on the target".to_owned(),
        0 if open > 0 => format!("{open} of {all} {}, by the target", claims(all)),
        0 => format!("none: {}", first_lack(of)),
        n if open > 0 => format!("{n} of {all} {}, {open} by the target", claims(all)),
        n => format!("{n} of {all} {}", claims(all)),
    }
}

/// The first thing that is lacking, in short.
fn first_lack(of: &ListedExperiment) -> String {
    let lack = of.needs.iter().find(|need| need.met == Some(false));
    lack.map_or_else(|| NOTHING.to_owned(), short)
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
        NeedKind::Other => need
            .needed
            .split(" with ")
            .next()
            .unwrap_or_default()
            .to_owned(),
        _ => words(need),
    }
}

/// A need in words.
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
pub(crate) fn needs(of: &ListedExperiment) -> Vec<String> {
    let all = |met: Option<bool>| {
        let own = of.needs.iter().filter(move |need| need.met == met);
        own.map(words)
    };
    let target = of.takes_target.then(|| "a target".to_owned());
    let each: [(&str, Vec<String>); 3] = [
        ("needs", target.into_iter().chain(all(Some(true))).collect()),
        ("lacks", all(Some(false)).collect()),
        ("the target decides on", all(None).collect()),
    ];
    let told = each.into_iter().filter(|(_, all)| !all.is_empty());
    told.map(|(what, all)| format!("{what} {}", all.join(", ")))
        .collect()
}

/// How long an experiment takes.
pub(crate) fn takes(of: &ListedExperiment) -> String {
    match of.seconds {
        None => "not known".to_owned(),
        Some(s) if s < TOLD_S => "< 1 s".to_owned(),
        Some(s) => seconds(s),
    }
}

/// The sum of the lengths.
pub(crate) fn sum(result: &ListResult) -> String {
    let unknown = result.experiments.iter().filter(|of| of.seconds.is_none());
    let mut words = format!(
        "{} experiments take about {}, beside the time to prepare the target",
        result.experiments.len(),
        seconds(result.seconds)
    );
    match unknown.count() {
        0 => {}
        1 => words += "; the length of 1 is not known",
        n => words += &format!("; the lengths of {n} are not known"),
    }
    words += &match (result.scale == 1.0, result.trials) {
        (true, None) => ". At full length, with the trials of the files".to_owned(),
        (true, Some(n)) => format!(". At full length, with {n} trials of each point"),
        (false, None) => format!(". With all times multiplied by {}", result.scale),
        (false, Some(n)) => format!(
            ". With all times multiplied by {} and {n} trials of each point",
            result.scale
        ),
    };
    words + "."
}

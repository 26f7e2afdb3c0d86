//! Checks the claims and the charts of a file, and what they need of the machine.

use super::problem::Problems;
use super::raw::{OneOrMore, RawChart, RawClaim, RawCurve, RawNeeds, SpannedValue};
use super::{Experiment, KernelBound, Needs};
use crate::claim::judge::Claim;
use crate::claim::parse;
use crate::claim::scope::{ClaimContext, none_such};
use q2c_result::reproduce::{ChartAsked, PublishedCurve};

pub(super) fn claim(
    problems: &mut Problems<'_>,
    raw: &RawClaim,
    experiment: &Experiment,
) -> (Claim, Needs) {
    let scope = experiment.scope();
    let windows: Vec<String> = scope
        .windows
        .iter()
        .map(|window| window.name.clone())
        .collect();
    let at = raw
        .at
        .iter()
        .map(|(axis, value)| (axis.clone(), value.get_ref().0.clone()));
    let context = ClaimContext {
        window: known(problems, "window", raw.window.as_ref(), &windows),
        phase: known(problems, "phase", raw.phase.as_ref(), &scope.phases),
        job: known(problems, "job", raw.job.as_ref(), &scope.jobs),
        at: at.collect(),
    };
    let span = raw.expect.span();
    let OneOrMore(texts) = raw.expect.get_ref();
    if texts.is_empty() {
        problems.add(
            &span,
            "a claim needs an expression, such as \"iops > 10 K\"",
        );
    }
    let mut expects = Vec::new();
    for text in texts {
        let read = parse::expect(text).map_err(|e| e.to_string());
        let read = read.and_then(|expect| match scope.check(&expect, &context) {
            Ok(()) => Ok(expect),
            Err(reason) => Err(format!("`{text}`: {reason}")),
        });
        expects.extend(problems.ok(&span, read));
    }
    let claim = Claim {
        says: raw.says.clone(),
        published: raw.published.clone(),
        read_as: raw.read_as.clone(),
        expects,
        context,
        needs: Vec::new(),
        fitted: raw.fitted.clone(),
    };
    let needs = needs(problems, &raw.needs);
    (claim, needs)
}

/// A name that a claim gives to its figures. One that there is not is a problem where it stands,
/// and the first that there is takes its place, so that the expressions are checked as well.
fn known(
    problems: &mut Problems<'_>,
    kind: &str,
    name: Option<&SpannedValue<String>>,
    all: &[String],
) -> Option<String> {
    let name = name?;
    if all.contains(name.get_ref()) {
        return Some(name.get_ref().clone());
    }
    problems.add(&name.span(), none_such(kind, name.get_ref(), all));
    all.first().cloned()
}

pub(super) fn chart(
    problems: &mut Problems<'_>,
    raw: &RawChart,
    experiment: &Experiment,
) -> ChartAsked {
    let figure = parse::figure(raw.figure.get_ref()).map_err(|e| e.to_string());
    let scope = experiment.scope();
    let figure = figure.and_then(|figure| {
        if scope.figures.contains(&figure.name) {
            Ok(figure)
        } else {
            Err(format!(
                "there is no figure `{}`; there are {}",
                figure.name,
                scope.figures.join(", ")
            ))
        }
    });
    let figure = problems.ok(&raw.figure.span(), figure);
    let mut known = |at: &SpannedValue<String>, others: &[&str]| {
        let axes = experiment.axes.iter();
        let mut axis_names: Vec<&str> = axes.map(|axis| axis.name.as_str()).collect();
        axis_names.extend(others);
        if !axis_names.contains(&at.get_ref().as_str()) {
            let message = format!(
                "there is no axis `{}`; there are {}",
                at.get_ref(),
                axis_names.join(", ")
            );
            problems.add(&at.span(), message);
        }
    };
    known(&raw.over, &["time", "phase"]);
    raw.by.iter().for_each(|by| known(by, &[]));
    let curve = |curve: &RawCurve| PublishedCurve {
        name: curve.name.clone(),
        points: curve
            .points
            .iter()
            .map(|(at, value)| (at.0.clone(), *value))
            .collect(),
    };
    ChartAsked {
        title: raw.title.clone(),
        figure: figure.map_or_else(String::new, |figure| figure.to_string()),
        over: raw.over.get_ref().clone(),
        by: raw.by.as_ref().map(|by| by.get_ref().clone()),
        published: raw.published.iter().map(curve).collect(),
        ours: Vec::new(),
    }
}

pub(super) fn needs(problems: &mut Problems<'_>, raw: &RawNeeds) -> Needs {
    let count = |at: &Option<SpannedValue<u32>>| at.as_ref().map(|at| *at.get_ref());
    let yes = |at: &Option<SpannedValue<bool>>| at.as_ref().is_some_and(|at| *at.get_ref());
    let text = |at: &Option<SpannedValue<String>>| at.as_ref().map(|at| at.get_ref().clone());
    Needs {
        cpus: count(&raw.cpus),
        threads_per_core: count(&raw.threads_per_core),
        numa_nodes: count(&raw.numa_nodes),
        kernel: raw.kernel.as_ref().and_then(|at| {
            let bound = kernel(at.get_ref());
            problems.ok(&at.span(), bound)
        }),
        poll_queues: yes(&raw.poll_queues),
        hw_queues: count(&raw.hw_queues),
        module: text(&raw.module),
        file_systems: raw
            .file_systems
            .iter()
            .map(|at| at.get_ref().clone())
            .collect(),
        spdk: yes(&raw.spdk),
        devices: text(&raw.devices),
    }
}

fn kernel(text: &str) -> Result<KernelBound, String> {
    let wrong = || format!("`{text}` is no bound; write \"< 5.0\" or \">= 5.0\"");
    let below = text.trim().strip_prefix('<').map(|version| (true, version));
    let from = text
        .trim()
        .strip_prefix(">=")
        .map(|version| (false, version));
    let (below, version) = from.or(below).ok_or_else(wrong)?;
    let (major, minor) = version.trim().split_once('.').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok(KernelBound {
        below,
        version: (number(major)?, number(minor)?),
    })
}

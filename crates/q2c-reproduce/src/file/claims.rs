//! Checks the claims and the charts of a file, and what they need of the machine.

use super::problem::Problems;
use super::raw::{OneOrMore, RawChart, RawClaim, RawCurve, Text};
use super::{Experiment, Needs};
use crate::claim::judge::Claim;
use crate::claim::parse;
use crate::claim::scope::{ClaimContext, none_such};
use q2c_result::reproduce::{ChartAsked, PublishedCurve};
use toml::Spanned;

pub(super) fn claim(
    problems: &mut Problems<'_>,
    raw: &RawClaim,
    experiment: &Experiment,
) -> (Claim, Needs) {
    let scope = experiment.scope();
    let at = raw.at.iter();
    let at = at.map(|(axis, value)| (axis.clone(), value.get_ref().0.clone()));
    let context = ClaimContext {
        window: known(
            problems,
            "window",
            raw.window.as_ref(),
            &scope.window_names(),
        ),
        phase: known(problems, "phase", raw.phase.as_ref(), &scope.phases),
        job: known(problems, "job", raw.job.as_ref(), &scope.jobs),
        at: at.collect(),
    };
    let OneOrMore(texts) = raw.expect.get_ref();
    if texts.is_empty() {
        let message = "a claim needs an expression, such as \"iops > 10 K\"";
        problems.add(&raw.expect, message);
    }
    let mut expects = Vec::new();
    for text in texts {
        let read = parse::expect(text).map_err(|e| e.to_string());
        let read = read.and_then(|expect| {
            let checked = scope.check(&expect, &context);
            checked
                .map(|()| expect)
                .map_err(|reason| format!("`{text}`: {reason}"))
        });
        expects.extend(problems.ok(&raw.expect, read));
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
    (claim, raw.needs.clone())
}

/// A name that a claim gives to its figures. One that there is not is a problem where it stands,
/// and the first that there is takes its place, so that the expressions are checked as well.
fn known(
    problems: &mut Problems<'_>,
    kind: &str,
    name: Option<&Spanned<String>>,
    all: &[String],
) -> Option<String> {
    let name = name?;
    if all.contains(name.get_ref()) {
        return Some(name.get_ref().clone());
    }
    problems.add(name, none_such(kind, name.get_ref(), all));
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
            Err(none_such("figure", &figure.name, &scope.figures))
        }
    });
    let figure = problems.ok(&raw.figure, figure);
    let mut known = |at: &Spanned<String>, others: &[&str]| {
        let others = others.iter().map(|&name| name.to_owned());
        let names: Vec<String> = scope.axis_names().into_iter().chain(others).collect();
        if !names.contains(at.get_ref()) {
            problems.add(at, none_such("axis", at.get_ref(), &names));
        }
    };
    known(&raw.over, &["time", "phase"]);
    raw.by.iter().for_each(|by| known(by, &[]));
    let point = |(at, value): &(Text, f64)| (at.0.clone(), *value);
    let curve = |curve: &RawCurve| PublishedCurve {
        name: curve.name.clone(),
        points: curve.points.iter().map(point).collect(),
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

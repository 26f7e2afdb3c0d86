//! Checks the claims and the charts of a file, and what they need of the machine.

use super::Needs;
use super::problem::Problems;
use super::raw::{OneOrMore, RawChart, RawClaim, RawCurve, Text};
use crate::claim::judge::Claim;
use crate::claim::parse;
use crate::claim::scope::{ClaimContext, ClaimScope, unknown_name};
use q2c_result::reproduce::{Chart, PublishedCurve};
use toml::Spanned;

pub fn claim(problems: &mut Problems<'_>, raw: &RawClaim, scope: &ClaimScope) -> (Claim, Needs) {
    let mut known =
        |kind, name: &Option<_>, names: &_| check_name(problems, kind, name.as_ref()?, names);
    let at = raw.at.iter();
    let at = at.map(|(axis, value)| (axis.clone(), value.get_ref().0.clone()));
    let context = ClaimContext {
        window: known("window", &raw.window, &scope.window_names()),
        phase: known("phase", &raw.phase, &scope.phases),
        job: known("job", &raw.job, &scope.jobs),
        at: at.collect(),
    };
    let OneOrMore(texts) = raw.expect.get_ref();
    let message = "a claim needs an expression, such as \"iops > 10 K\"";
    problems.add_if(texts.is_empty(), &raw.expect, message);
    let expects = texts.iter().filter_map(|text| {
        let read = parse::expect(text).map_err(|e| e.to_string());
        let read = read.and_then(|expect| match scope.check(&expect, &context) {
            Ok(()) => Ok(expect),
            Err(reason) => Err(format!("`{text}`: {reason}")),
        });
        problems.ok(&raw.expect, read)
    });
    let claim = Claim {
        says: raw.says.clone(),
        published: raw.published.clone(),
        read_as: raw.read_as.clone(),
        expects: expects.collect(),
        context,
        needs: Vec::new(),
        fitted: raw.fitted.clone(),
    };
    (claim, raw.needs.clone())
}

/// Checks a name that a claim sets for its figures. An unknown name is a problem at its place; the
/// first known name then replaces it, so that the expressions are checked as well.
fn check_name(
    problems: &mut Problems<'_>,
    kind: &str,
    name: &Spanned<String>,
    all: &[String],
) -> Option<String> {
    if all.contains(name.get_ref()) {
        return Some(name.get_ref().clone());
    }
    problems.add(name, unknown_name(kind, name.get_ref(), all));
    all.first().cloned()
}

pub(super) fn chart(problems: &mut Problems<'_>, raw: &RawChart, scope: &ClaimScope) -> Chart {
    let figure = parse::figure(raw.figure.get_ref()).map_err(|e| e.to_string());
    let figure = figure.and_then(|figure| {
        if scope.figures.contains(&figure.name) {
            Ok(figure)
        } else {
            Err(unknown_name("figure", &figure.name, &scope.figures))
        }
    });
    let figure = problems.ok(&raw.figure, figure);
    let mut known = |at: &Spanned<String>, others: &[&str]| {
        let others = others.iter().map(|&name| name.to_owned());
        let names: Vec<String> = scope.axis_names().into_iter().chain(others).collect();
        if !names.contains(at.get_ref()) {
            problems.add(at, unknown_name("axis", at.get_ref(), &names));
        }
    };
    known(&raw.over, &["time", "phase"]);
    raw.by.iter().for_each(|by| known(by, &[]));
    let point = |(at, value): &(Text, f64)| (at.0.clone(), *value);
    let curve = |curve: &RawCurve| PublishedCurve {
        name: curve.name.clone(),
        points: curve.points.iter().map(point).collect(),
    };
    Chart {
        title: raw.title.clone(),
        figure: figure.map_or_else(String::new, |figure| figure.to_string()),
        over: raw.over.get_ref().clone(),
        by: raw.by.as_ref().map(|by| by.get_ref().clone()),
        published: raw.published.iter().map(curve).collect(),
        ours: Vec::new(),
    }
}

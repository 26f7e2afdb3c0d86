//! The verdicts of all experiments as sentences.

use super::figures::both_sides;
use super::weight;
use crate::said::Said;
use q2c_result::reproduce::{AllResult, ClaimLine, ExperimentLine};

/// Which experiments are missing; `None` where none is.
pub(crate) fn missing(result: &AllResult) -> Option<String> {
    let begun = |name: &&String| result.experiments.iter().any(|of| of.name == **name);
    let half = result.missing.iter().find(begun);
    let finished = result.experiments.len() - usize::from(half.is_some());
    let missing = result.missing.len();
    let verb = if missing == 1 { "is" } else { "are" };
    let mut words = format!(
        "{missing} of {} experiments {verb} missing",
        finished + missing
    );
    words += &half.map_or_else(String::new, |name| {
        format!("; {name} was stopped on the way, and is judged by the trials that it has")
    });
    (missing > 0).then_some(words)
}

/// Each claim with its verdict, its figures and the reason.
pub(crate) fn told(result: &AllResult) -> Vec<Said> {
    let each = result.experiments.iter();
    each.flat_map(|of| of.claims.iter().map(move |claim| one(of, claim)))
        .collect()
}

/// The figures of a claim.
pub(super) fn here(claim: &ClaimLine) -> String {
    let figures = claim.measured.iter().map(|figure| {
        let right = figure.right.as_ref();
        both_sides(&figure.expects, &figure.over_trials, right, &figure.unit)
    });
    figures.collect::<Vec<_>>().join("; ")
}

fn one(of: &ExperimentLine, claim: &ClaimLine) -> Said {
    let here = here(claim);
    let mut words = vec![claim.says.clone()];
    words.extend(
        claim
            .published
            .as_ref()
            .map(|of| format!("Published: {of}")),
    );
    words.extend(
        Some(here)
            .filter(|here| !here.is_empty())
            .map(|here| format!("Here: {here}")),
    );
    words.extend(Some(claim.why.clone()).filter(|why| !why.is_empty()));
    let basis = match claim.measured.is_empty() {
        true => String::new(),
        false => format!(" ({})", claim.basis.name()),
    };
    let what = format!("{}{basis}, {}", claim.verdict.name(), of.name);
    Said::new(weight(claim.verdict), &what, words.join(". "))
}

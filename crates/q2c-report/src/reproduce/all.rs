//! The verdicts of all experiments as sentences.

use super::figures::both_sides;
use super::{in_words, weight};
use crate::phrase::joined;
use crate::said::Note;
use q2c_result::reproduce::{AllResult, ClaimLine, ExperimentLine};

pub(crate) fn missing(result: &AllResult) -> Option<String> {
    let begun = |name: &&String| result.experiments.iter().any(|e| e.name == **name);
    let half = result.missing.iter().find(begun);
    let finished = result.experiments.len() - usize::from(half.is_some());
    let missing = result.missing.len();
    let verb = if missing == 1 { "is" } else { "are" };
    let mut message = format!(
        "{missing} of {} experiments {verb} missing",
        finished + missing
    );
    message += &half.map_or_else(String::new, |name| {
        format!("; {name} was stopped on the way, and is judged by the trials that it has")
    });
    (missing > 0).then_some(message)
}

/// Each claim with its verdict, its figures and the reason.
pub(crate) fn claims(result: &AllResult) -> Vec<Note> {
    let experiments = result.experiments.iter();
    let claims = experiments.flat_map(|experiment| {
        let claims = experiment.claims.iter();
        claims.map(move |claim| judged_claim(experiment, claim))
    });
    claims.collect()
}

fn here(claim: &ClaimLine) -> String {
    let figures = claim.measured.iter().map(|figure| {
        let right = figure.right.as_ref();
        both_sides(&figure.expects, &figure.over_trials, right, &figure.unit)
    });
    joined(figures, "; ")
}

fn judged_claim(experiment: &ExperimentLine, claim: &ClaimLine) -> Note {
    let here = (!claim.measured.is_empty()).then(|| here(claim));
    let basis = here.as_ref().map(|_| format!(" ({})", claim.basis.name()));
    let basis = basis.unwrap_or_default();
    let what = format!("{}{basis}, {}", claim.verdict.name(), experiment.name);
    let sentence = in_words(
        &claim.says,
        claim.published.as_ref(),
        here,
        claim.why.clone(),
    );
    Note::new(weight(claim.verdict), &what, sentence)
}

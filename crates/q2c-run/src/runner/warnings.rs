use super::event::time_text;
use super::ledger::{FIRST_TRIALS, Ledger};
use super::plan::Settings;
use super::precision::Precision;
use q2c_result::Warning;
use serde::Serialize;

/// A list of names that fits on one line: up to four names, else the first three and the number of
/// others.
fn short_list(labels: &[&str]) -> String {
    match labels {
        [a, b, c, rest @ ..] if rest.len() > 1 => format!("{a}; {b}; {c}; {} more", rest.len()),
        _ => labels.join("; "),
    }
}

fn cell_count(n: usize) -> String {
    match n {
        1 => "1 cell".to_owned(),
        _ => format!("{n} cells"),
    }
}

/// Warns that the budget left rounds out. The budget is too short by `short_by_s` seconds.
pub(super) fn trials_cut(trials: u32, settings: &Settings, short_by_s: f64) -> Warning {
    let asked = settings.trials;
    let budget = time_text(settings.budget.unwrap_or_default().as_secs_f64());
    Warning::new(
        "trials-cut",
        format!("{trials} trials per cell instead of {asked}: the budget is {budget}"),
        "medians have wider intervals, or none at all with a single trial",
        &format!("raise the budget by {}", time_text(short_by_s)),
    )
}

/// Warns that the run took longer than its budget: the first round did not fit, or trials took
/// longer than expected.
pub(super) fn over_budget(elapsed_s: f64, settings: &Settings) -> Option<Warning> {
    let budget = settings.budget?.as_secs_f64();
    (elapsed_s > budget).then(|| {
        let (took, budget) = (time_text(elapsed_s), time_text(budget));
        Warning::new(
            "over-budget",
            format!("the run took {took}, its budget is {budget}"),
            "a round once begun is finished, and the first always runs",
            "raise the budget, or name fewer cells",
        )
    })
}

pub(super) fn failed<C: Serialize + Clone, O>(ledger: &Ledger<C, O>) -> Vec<Warning> {
    let cells = || ledger.cells.iter().enumerate();
    let impossible = cells().filter(|&(i, _)| ledger.impossible_reason(i).is_some());
    let impossible: Vec<&str> = impossible.map(|(_, cell)| cell.label.as_str()).collect();
    let has_failed = |i: usize| ledger.trials[i].values().any(|t| t.result.ok().is_none());
    let failed = cells().filter(|&(i, _)| has_failed(i) && ledger.impossible_reason(i).is_none());
    let failed: Vec<&str> = failed.map(|(_, cell)| cell.label.as_str()).collect();
    let failed = warning(
        "trials-failed",
        &failed,
        "with failed trials",
        "their medians rest on fewer trials",
        "see log.txt for the reasons",
    );
    let impossible = warning(
        "cells-impossible",
        &impossible,
        "that cannot run here",
        "they are missing from the result",
        "see log.txt for the reasons, and q2c doctor for what would change it",
    );
    failed.into_iter().chain(impossible).collect()
}

/// The message for a cell that gets no further trials, for the reason `reason`.
pub(super) fn give_up_note(label: &str, reason: &str) -> String {
    format!(
        "{label}: its first {FIRST_TRIALS} trials gave no valid figure, for the same reason ({reason}), so that the others \
         are left out; --all-trials runs them"
    )
}

/// The name of the warning of cells that were given up.
pub const TRIALS_LEFT_OUT: &str = "trials-left-out";

/// Warns of cells that were given up, with the number of their omitted trials.
pub(super) fn given_up<C: Serialize + Clone, O>(
    ledger: &Ledger<C, O>,
    settings: &Settings,
) -> Option<Warning> {
    let cells = ledger.cells.iter().enumerate();
    let given_up = cells.filter_map(|(cell, plan)| {
        let reason = ledger.give_up_reason(cell)?;
        let left_out = ledger.not_run(cell, settings.trials);
        (left_out > 0).then(|| (format!("{} ({reason})", plan.label), left_out))
    });
    let (labels, left_out): (Vec<String>, Vec<u32>) = given_up.unzip();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    (!labels.is_empty()).then(|| {
        Warning::new(
            TRIALS_LEFT_OUT,
            format!(
                "{} trials of {} were left out, as the first {FIRST_TRIALS} gave no valid figure, for the same reason: {}",
                left_out.iter().sum::<u32>(),
                cell_count(labels.len()),
                short_list(&labels)
            ),
            "they have no valid figure; what their trials gave is shown as invalid",
            "mend the reason, or run all of them with --all-trials",
        )
    })
}

/// Warns of cells whose medians are still not precise enough.
pub(super) fn imprecise(labels: &[&str], precision: Precision) -> Option<Warning> {
    let width = precision.relative_width * 100.0;
    warning(
        "interval-wide",
        labels,
        &format!("with a median interval wider than {width:.1} %"),
        "the wanted precision was not reached within the trials or the time allowed",
        "raise the number of trials or the budget, or lengthen the trial",
    )
}

/// A warning that names the cells in `labels`; `None` if the list is empty.
fn warning(id: &str, labels: &[&str], what: &str, means: &str, todo: &str) -> Option<Warning> {
    let (cells, named) = (cell_count(labels.len()), short_list(labels));
    let finding = format!("{cells} {what}: {named}");
    (!labels.is_empty()).then(|| Warning::new(id, finding, means, todo))
}

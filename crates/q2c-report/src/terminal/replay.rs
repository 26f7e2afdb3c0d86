//! `q2c replay` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::replay;
use crate::said::Said;
use q2c_result::replay::ReplayResult;

/// The report of a replay.
#[must_use]
pub fn replay(result: &ReplayResult, screen: Screen) -> String {
    let (job, trace) = (&result.job, &result.trace);
    let about = format!("· {}", replay::about(result));
    let mut text = screen.note(Tone::Strong, &trace.path, &about);
    if !result.complete {
        let what = "the run was stopped early; what is shown is valid, the rest is missing";
        text += &screen.note(Tone::Bad, "incomplete:", what);
    }
    if let Some(lost) = replay::without_idle_time(job, trace) {
        text += &screen.note(Tone::Caution, "outstanding:", &lost);
    }
    text += &said::all(&replay::job(job, trace), screen);
    text += &said::table(&replay::sums(result), screen);
    text += &said::table(&replay::latencies(job, &result.trial), screen);
    text += "\n";
    text += &said::all(&replay::words(job, trace, &result.trial), screen);
    if let Some(trials) = replay::trials(result) {
        text += &said::table(&trials, screen);
        text += &said::all(&replay::invalid_trials("", &result.trials), screen);
    }
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}

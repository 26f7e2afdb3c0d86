//! A replay as a page.

use super::chart::{self, replay::Line};
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::replay;
use crate::said::{Said, Weight};
use q2c_result::replay::ReplayResult;

/// Makes the page of a replay.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn replay(result: &ReplayResult) -> Result<String, RenderError> {
    let (job, trace) = (&result.job, &result.trace);
    let words = replay::words(job, trace, &result.trial);
    replayed::render(Content {
        command: "replay",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: trace.path.clone(),
        about: replay::about(result),
        seed: job.seed,
        notices: notices(result, &words),
        verdict: Vec::new(),
        tables: tables(result),
        told: vec![
            Told::new("What it says", words),
            Told::new("How it was replayed", replay::job(job, trace)),
        ],
        charts: chart::replay::all(&[Line::only(&result.trial)], true),
        facts: facts(result),
    })
}

/// Sentences to repeat at the top of the page so that no reader misses them: lost idle time,
/// cautions, invalid trials.
fn notices(result: &ReplayResult, words: &[Said]) -> Vec<Said> {
    let lost = replay::without_idle_time(&result.job, &result.trace);
    let lost = lost.map(|lost| Said::new(Weight::Caution, "outstanding", lost));
    let heavy = |said: &&Said| matches!(said.weight, Weight::Caution | Weight::Bad);
    let heavy = words.iter().filter(heavy).cloned();
    let trials = match result.trials.len() {
        0 | 1 => Vec::new(),
        _ => replay::invalid_trials("", &result.trials),
    };
    lost.into_iter().chain(heavy).chain(trials).collect()
}

fn tables(result: &ReplayResult) -> Vec<Table> {
    let table = |title: &str, of| Table::new(title, of);
    let mut tables = vec![
        table("Time and sums", replay::sums(result)),
        table("Latency", replay::latencies(&result.job, &result.trial)),
    ];
    tables.extend(replay::trials(result).map(|of| table("Trials", of)));
    tables
}

fn facts(result: &ReplayResult) -> Vec<Facts> {
    let targets = result.targets.iter().map(Facts::target);
    targets.chain([Facts::machine(&result.machine)]).collect()
}

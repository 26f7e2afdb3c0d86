//! A run of `q2c tune` over several numbers of jobs as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::sim_machine;
use crate::tune_jobs;
use q2c_result::tune_jobs::TuneJobsResult;

/// Makes the page of a run over several numbers of jobs.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn tune_jobs(result: &TuneJobsResult) -> Result<String, RenderError> {
    let sizes = tune_jobs::block_sizes(result);
    let course = result.recommended.iter().map(|of| {
        let said = tune_jobs::over_jobs(result, of);
        format!("{}: {}", said.what, said.words)
    });
    let table = |&bs| Table::new(tune_jobs::title(result, bs), tune_jobs::table(result, bs));
    let answers = |&bs| {
        let title = format!("Answers, {}", tune_jobs::title(result, bs));
        Told::new(title, tune_jobs::answers(result, bs))
    };
    let mut told: Vec<Told> = sizes.iter().map(answers).collect();
    told.push(Told::new("The runs", tune_jobs::notes(result)));
    let first = result.runs.first();
    let facts = first.map(|run| [Facts::target(&run.target), Facts::machine(&run.machine)]);
    replayed::render(Content {
        command: "tune",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.provenance.started_unix_s,
            complete: result.complete,
            warnings: &[],
        },
        title: first.map_or_else(String::new, |run| {
            sim_machine::title(&run.target, &run.machine)
        }),
        about: tune_jobs::about(result),
        seed: first.map_or(0, |run| run.job.seed),
        notices: tune_jobs::cautions(result),
        verdict: course.collect(),
        tables: sizes.iter().map(table).collect(),
        told,
        charts: sizes
            .iter()
            .filter_map(|&bs| chart::tune_jobs::chart(result, bs))
            .collect(),
        facts: facts.into_iter().flatten().collect(),
    })
}

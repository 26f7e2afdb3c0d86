//! `q2c tune` over several numbers of jobs in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::tune_jobs;
use q2c_result::tune_jobs::TuneJobsResult;

/// The report of a run over several numbers of jobs: for each block size a table, the answer at
/// each number of jobs and the course of the recommendation; then what qualifies the numbers.
#[must_use]
pub fn tune_jobs(result: &TuneJobsResult, screen: Screen) -> String {
    let about = format!("· {}", tune_jobs::about(result));
    let mut text = screen.note(Tone::Strong, &tune_jobs::target(result), &about);
    let machine = result.runs.first().map(|run| &run.machine);
    text += &machine.map_or_else(String::new, |machine| screen.simulated(machine));
    for bs in tune_jobs::block_sizes(result) {
        let title = tune_jobs::title(result, bs);
        text += &format!("\n{}", screen.paint(Tone::Strong, &title));
        text += &said::table(&tune_jobs::table(result, bs), screen);
        text += &said::all(&tune_jobs::answers(result, bs), screen);
    }
    text.push('\n');
    let course = result.recommended.iter();
    let course: Vec<_> = course.map(|of| tune_jobs::over_jobs(result, of)).collect();
    text += &said::all(&course, screen);
    text += &said::all(&tune_jobs::notes(result), screen);
    text + &said::all(&tune_jobs::cautions(result), screen)
}

//! The report of `q2c tune` over several numbers of jobs.

use crate::course::{course, jobs};
use crate::document::{Document, Reported, Section};
use crate::phrase::{distinct, grouped, listed, when};
use crate::quantity::{bare, seconds};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
use crate::{advice, invalid, label, metric, plots, sim_machine};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult, Unavailable};
use q2c_result::tune_jobs::{RecommendedOverJobs, TuneJobsResult, folder};

impl Reported for TuneJobsResult {
    fn document(&self) -> Document<'_> {
        let first = self.runs.first();
        let title = first.map(|run| sim_machine::title(&run.target, &run.machine));
        let seed = first.map_or(0, |run| run.job.seed);
        let rw = first.map_or("", |run| run.job.rw.as_str());
        let sizes = distinct(self.runs.iter().flat_map(label::block_sizes)).into_iter();
        let document = Document::new("tune", &self.version, &self.schema)
            .titled(title.unwrap_or_default(), about(self))
            .run(seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .answers(self.recommended.iter().map(|r| over_jobs(self, r)))
            .notices(cautions(self))
            .sections(sizes.map(|bs: Bytes| {
                Section::new(format!("{bs} {rw}"))
                    .table(table(self, bs))
                    .notes(answers(self, bs))
                    .plots(move || plots::tune_jobs::plots(self, bs))
            }))
            .section(Section::new("The runs").notes(notes(self)));
        match first {
            Some(run) => document.target(&run.target).machine(&run.machine),
            None => document,
        }
    }
}

fn about(result: &TuneJobsResult) -> String {
    let first = result.runs.first();
    let trials = first.map(|run| {
        let trial = bare(&seconds(run.job.trial_seconds));
        let think = label::think(&run.job, "the I/Os of each");
        format!("{think}, {} of {trial} per cell", label::trials(run))
    });
    format!(
        "{}, {} jobs{} · took {}",
        first.map_or("", |run| &run.job.rw),
        listed(&result.jobs),
        trials.unwrap_or_default(),
        seconds(result.provenance.seconds)
    )
}

/// The cells that the tables over jobs show: interrupts, classic polling, Linux's rule, and the
/// method that the answer names, recommended or as a trade-off.
pub(crate) fn compared(run: &TuneResult, bs: Bytes) -> Vec<&Cell> {
    let roles = [Role::Baseline, Role::Linux].map(CellRole::Known);
    let recommendation = label::recommendation_of(run, bs);
    let nearest = recommendation.and_then(|recommendation| recommendation.nearest.as_ref());
    let mut cells = label::cells_of(run, bs);
    cells.retain(|cell| {
        roles.contains(&cell.role)
            || label::is_recommended(cell, recommendation)
            || nearest.is_some_and(|name| name.0 == cell.method)
    });
    cells
}

fn table(result: &TuneJobsResult, bs: Bytes) -> ReportTable {
    let rows = result.runs.iter().flat_map(|run| {
        let recommendation = label::recommendation_of(run, bs);
        compared(run, bs).into_iter().map(move |cell| {
            let mark = when(label::is_recommended(cell, recommendation), "▸ ");
            let name = format!("{mark}{}", label::cell(cell));
            let mut row = row![name, run.job.jobs.to_string()];
            row.extend(metric::over_jobs().map(|metric| {
                let range = metric.range(cell);
                ReportField::over(metric.median(cell), when(metric.with_range(), &range))
            }));
            row
        })
    });
    let figures = metric::over_jobs().map(|metric| metric.head);
    let legend = "Medians over the trials; [min, max] below those beside polling (% poll, x poll), on which the verdicts stand. \
         Interrupts, classic polling, Linux's rule and the methods that the answer names; ▸ is recommended.";
    ReportTable::from_rows(["method", "jobs"].into_iter().chain(figures), rows).legend(legend)
}

fn over_jobs(result: &TuneJobsResult, recommended: &RecommendedOverJobs) -> Note {
    // If the rule's parameters differ between numbers of jobs, only the table shows them.
    let name = |method: &Method| {
        let rule = || Some(method.lane()?.policy()?.rule().name);
        let mut alike = recommended.leaders.iter().map(|leader| &leader.method);
        let varies = alike.any(|other| method.alike(other) && other != method);
        match rule().filter(|_| varies) {
            Some(rule) => format!("{} {rule} (numbers vary)", method.name()),
            None => label::method(method),
        }
    };
    let sentence = course(&recommended.leaders, &recommended.changes, name);
    let clear = recommended.leaders.iter().all(|leader| leader.clear);
    let weight = Weight::sure(clear && result.complete);
    Note::new(weight, &recommended.bs.to_string(), sentence)
}

/// The answer for each number of jobs at one block size, each followed by its caveats.
fn answers(result: &TuneJobsResult, bs: Bytes) -> impl Iterator<Item = Note> {
    let answer = move |run: &TuneResult| {
        let mut advice = advice::words(run, label::recommendation_of(run, bs)?);
        advice.of = jobs(run.job.jobs);
        Some(advice.said())
    };
    result.runs.iter().filter_map(answer).flatten()
}

/// Notes on background jobs and limits, and where the full result of each run is.
fn notes(result: &TuneJobsResult) -> Vec<Note> {
    let mut said = in_each(result, |r| Note::plains("background", &r.job.background));
    said.extend(in_each(result, |r| Note::plains("limit", &r.job.limits)));
    if !result.runs.is_empty() {
        let folders = listed(result.runs.iter().map(|run| folder(run.job.jobs)));
        let message = format!(
            "each number of jobs has a result and a report of its own, in {folders} of the run folder"
        );
        said.push(Note::plain("more", message));
    }
    said
}

/// Notes that change how the numbers must be read: missing runs, methods that ran as another one,
/// warnings, and the doctor's checks.
fn cautions(result: &TuneJobsResult) -> Vec<Note> {
    let failed = result.failed.iter();
    let failed = failed.map(|f| Note::bad(&jobs(f.jobs), format!("failed to {}", f.reason)));
    let mut said: Vec<Note> = failed.collect();
    let (begun, missing): (Vec<u32>, Vec<u32>) =
        result.jobs.iter().partition(|&&n| result.run(n).is_some());
    let stopped = |n: &u32| result.run(*n).is_some_and(|run| !run.complete);
    said.extend(begun.into_iter().filter(stopped).map(|n| {
        let message = "the run was stopped early; what is shown is valid, cells are missing";
        Note::bad(&format!("incomplete, {}", jobs(n)), message)
    }));
    if !missing.is_empty() {
        let message = format!("nothing was measured with {} jobs", listed(&missing));
        said.push(Note::bad("incomplete", message));
    }
    said.extend(result.runs.iter().filter_map(shared_cpus));
    said.extend(in_each(result, |run| {
        Note::each(Weight::Bad, "effective mode", label::fallbacks(run))
    }));
    let unavailable = |none: &Unavailable| format!("{}: {}", none.method, none.reason);
    said.extend(in_each(result, |run| {
        Note::plains("not available", run.unavailable.iter().map(unavailable))
    }));
    said.extend(in_each(result, |r| r.warnings.iter().map(Note::warning)));
    said.extend(in_each(result, |run| {
        invalid::checks(&run.doctor).map(invalid::said)
    }));
    said
}

fn shared_cpus(run: &TuneResult) -> Option<Note> {
    let mut cpus = run.job.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let fewer = !cpus.is_empty() && cpus.len() < run.job.jobs as usize;
    fewer.then(|| {
        let message = format!(
            "they share CPUs {}: a job that polls there takes the CPU from another",
            label::ranges(&cpus)
        );
        Note::caution(&jobs(run.job.jobs), message)
    })
}

/// The notes that `get` returns for the runs. Equal ones appear once, with all numbers of jobs that
/// they are true of.
fn in_each<'a, S: IntoIterator<Item = Note>>(
    result: &'a TuneJobsResult,
    get: impl Fn(&'a TuneResult) -> S,
) -> Vec<Note> {
    let runs = result.runs.iter();
    once(runs.flat_map(|run| get(run).into_iter().map(|said| (said, run.job.jobs))))
}

fn once(said: impl Iterator<Item = (Note, u32)>) -> Vec<Note> {
    let with_numbers = |(said, mut numbers): (Note, Vec<u32>)| {
        numbers.dedup();
        let plural = if numbers == [1] { "job" } else { "jobs" };
        let what = format!("{}, {} {plural}", said.what, listed(&numbers));
        Note { what, ..said }
    };
    grouped(said).into_iter().map(with_numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 and 4 jobs share a warning, which is shown once; that of 2 jobs has other words and stays.
    #[test]
    fn what_several_runs_say_is_told_once() {
        let said = |words: &str| Note::plain("warning x", words);
        let sentences = once([(said("a"), 1), (said("b"), 2), (said("a"), 4)].into_iter());
        let plain = |jobs: &str, words| Note::plain(&format!("warning x, {jobs} jobs"), words);
        assert_eq!(sentences, [plain("1, 4", "a"), plain("2", "b")]);
    }
}

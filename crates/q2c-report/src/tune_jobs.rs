//! The report of `q2c tune` over several numbers of jobs.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, Weight, row};
use crate::phrase::{distinct, grouped, jobs, listed, listed_if_any, when};
use crate::quantity::{seconds, trim_zeros};
use crate::{advice, facts, label, metric, plots, validity};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::lead::{LeadChange, Leader};
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult, Unavailable};
use q2c_result::tune_jobs::{RecommendedOverJobs, TuneJobsResult, folder};

impl Reported for TuneJobsResult {
    fn document(&self) -> Document<'_> {
        let first = self.runs.first();
        let title = first.map(|run| facts::title(&run.target, &run.machine));
        let seed = first.map_or(0, |run| run.job.seed);
        let rw = first.map_or("", |run| run.job.rw.as_str());
        let sizes = distinct(self.runs.iter().flat_map(label::block_sizes)).into_iter();
        let document = Document::new("tune", &self.version, &self.schema)
            .titled(title.unwrap_or_default(), about(self))
            .run(seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .answers(self.recommended.iter().map(|r| over_jobs_note(self, r)))
            .notices(cautions(self))
            .sections(sizes.map(|bs: Bytes| {
                Section::new(format!("{bs} {rw}"))
                    .table(method_table(self, bs))
                    .notes(answer_notes(self, bs))
                    .plots(move || plots::over_jobs::tune_plots(self, bs))
            }))
            .section(Section::new("The runs").notes(run_notes(self)));
        match first {
            Some(run) => document.target(&run.target).machine(&run.machine),
            None => document,
        }
    }
}

fn about(result: &TuneJobsResult) -> String {
    let first = result.runs.first();
    let trials = first.map(|run| {
        let trial = trim_zeros(&seconds(run.job.trial_seconds));
        let think = label::think_time(&run.job, "the I/Os of each");
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
pub(crate) fn compared_cells(run: &TuneResult, bs: Bytes) -> Vec<&Cell> {
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

fn method_table(result: &TuneJobsResult, bs: Bytes) -> ReportTable {
    let rows = result.runs.iter().flat_map(|run| {
        let recommendation = label::recommendation_of(run, bs);
        compared_cells(run, bs).into_iter().map(move |cell| {
            let mark = when(label::is_recommended(cell, recommendation), "▸ ");
            let name = format!("{mark}{}", label::method(&cell.method));
            let mut row = row![name, run.job.jobs.to_string()];
            row.extend(metric::jobs_metrics().map(|metric| {
                let range = metric.range(cell);
                ReportField::stacked(metric.median(cell), when(metric.has_range(), &range))
            }));
            row
        })
    });
    let figures = metric::jobs_metrics().map(|metric| metric.head);
    let legend = "Medians over the trials; [min, max] below those beside polling (% poll, x poll), on which the verdicts stand. \
         Interrupts, classic polling, Linux's rule and the methods that the answer names; ▸ is recommended.";
    ReportTable::from_rows(["method", "jobs"].into_iter().chain(figures), rows).legend(legend)
}

fn over_jobs_note(result: &TuneJobsResult, recommended: &RecommendedOverJobs) -> Note {
    // If the rule's parameters differ between numbers of jobs, only the table shows them.
    let name = |method: &Method| {
        let rule = || Some(method.lane()?.policy()?.rule().name);
        let mut methods = recommended.leaders.iter().map(|leader| &leader.method);
        let varies = methods.any(|other| method.same_rule(other) && other != method);
        match rule().filter(|_| varies) {
            Some(rule) => format!("{} {rule} (numbers vary)", method.name()),
            None => label::method(method),
        }
    };
    let sentence = recommendations(&recommended.leaders, &recommended.changes, name);
    let clear = recommended.leaders.iter().all(|leader| leader.clear);
    let weight = Weight::good_if(clear && result.complete);
    Note::new(weight, &recommended.bs.to_string(), sentence)
}

/// The recommended method over the number of jobs: `interrupt is recommended up to 4 jobs, poll
/// from 8; not settled at 6 (poll)`. The text names unsettled ones too. `method` names a method.
fn recommendations(
    leaders: &[Leader],
    changes: &[LeadChange],
    method: impl Fn(&Method) -> String,
) -> String {
    let clear: Vec<&Leader> = leaders.iter().filter(|leader| leader.clear).collect();
    let mut text = match (clear.as_slice(), changes.first()) {
        (_, Some(change)) => {
            let last = jobs(change.last);
            format!("{} is recommended up to {last}", method(&change.from))
        }
        ([], None) => {
            let at = |leader: &Leader| format!("{} at {}", method(&leader.method), leader.jobs);
            let methods = listed(leaders.iter().map(at));
            return format!("no recommendation is settled: {methods}");
        }
        ([first, .., last], None) if clear.len() < leaders.len() && first.jobs != last.jobs => {
            let (name, last) = (method(&first.method), jobs(last.jobs));
            format!("{name} is recommended from {} to {last}", first.jobs)
        }
        ([first, .., last], None) if first.jobs != last.jobs => {
            let name = method(&first.method);
            format!("{name} is recommended at every number of jobs")
        }
        ([first, ..], None) => {
            let (name, jobs) = (method(&first.method), jobs(first.jobs));
            format!("{name} is recommended at {jobs}")
        }
    };
    for change in changes {
        text += &format!(", {} from {}", method(&change.to), change.first);
    }
    let unclear = leaders.iter().filter(|leader| !leader.clear);
    let unclear = unclear.map(|leader| format!("{} ({})", leader.jobs, method(&leader.method)));
    if let Some(unclear) = listed_if_any(unclear) {
        text += &format!("; not settled at {unclear}");
    }
    text
}

/// The answer for each number of jobs at one block size, each followed by its caveats.
fn answer_notes(result: &TuneJobsResult, bs: Bytes) -> impl Iterator<Item = Note> {
    let answer = move |run: &TuneResult| {
        let mut advice = advice::answer(run, label::recommendation_of(run, bs)?);
        advice.subject = jobs(run.job.jobs);
        Some(advice.into_notes())
    };
    result.runs.iter().filter_map(answer).flatten()
}

/// Notes on background jobs and limits, and where the full result of each run is.
fn run_notes(result: &TuneJobsResult) -> Vec<Note> {
    let mut notes = gather(result, |r| Note::plains("background", &r.job.background));
    notes.extend(gather(result, |r| Note::plains("limit", &r.job.limits)));
    if !result.runs.is_empty() {
        let folders = listed(result.runs.iter().map(|run| folder(run.job.jobs)));
        let message = format!(
            "each number of jobs has a result and a report of its own, in {folders} of the run folder"
        );
        notes.push(Note::plain("more", message));
    }
    notes
}

/// Notes that change how the numbers must be read: missing runs, methods that ran as another one,
/// warnings, and the doctor's checks.
fn cautions(result: &TuneJobsResult) -> Vec<Note> {
    let failed = result.failed.iter();
    let failed = failed.map(|f| Note::bad(&jobs(f.jobs), format!("failed to {}", f.reason)));
    let mut notes: Vec<Note> = failed.collect();
    let (started_runs, missing): (Vec<u32>, Vec<u32>) =
        result.jobs.iter().partition(|&&n| result.run(n).is_some());
    let is_stopped = |n: &u32| result.run(*n).is_some_and(|run| !run.complete);
    notes.extend(started_runs.into_iter().filter(is_stopped).map(|n| {
        let message = "the run was stopped early; what is shown is valid, cells are missing";
        Note::bad(&format!("incomplete, {}", jobs(n)), message)
    }));
    if !missing.is_empty() {
        let message = format!("nothing was measured with {} jobs", listed(&missing));
        notes.push(Note::bad("incomplete", message));
    }
    notes.extend(result.runs.iter().filter_map(shared_cpus));
    notes.extend(gather(result, |run| {
        Note::many(Weight::Bad, "effective mode", label::fallbacks(run))
    }));
    let unavailable = |it: &Unavailable| format!("{}: {}", it.method, it.reason);
    notes.extend(gather(result, |run| {
        Note::plains("not available", run.unavailable.iter().map(unavailable))
    }));
    notes.extend(gather(result, |r| r.warnings.iter().map(Note::warning)));
    notes.extend(gather(result, |run| {
        validity::invalidating_checks(&run.doctor).map(validity::check_note)
    }));
    notes
}

fn shared_cpus(run: &TuneResult) -> Option<Note> {
    let mut cpus = run.job.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let fewer = !cpus.is_empty() && cpus.len() < run.job.jobs as usize;
    fewer.then(|| {
        let message = format!(
            "they share CPUs {}: a job that polls there takes the CPU from another",
            label::cpu_ranges(&cpus)
        );
        Note::caution(&jobs(run.job.jobs), message)
    })
}

/// The notes that `get` returns for the runs. Equal ones appear once, with all numbers of jobs that
/// they are true of.
fn gather<'a, S: IntoIterator<Item = Note>>(
    result: &'a TuneJobsResult,
    get: impl Fn(&'a TuneResult) -> S,
) -> Vec<Note> {
    let runs = result.runs.iter();
    merged_notes(runs.flat_map(|run| get(run).into_iter().map(|note| (note, run.job.jobs))))
}

fn merged_notes(notes: impl Iterator<Item = (Note, u32)>) -> Vec<Note> {
    let with_numbers = |(note, mut numbers): (Note, Vec<u32>)| {
        numbers.dedup();
        let plural = if numbers == [1] { "job" } else { "jobs" };
        let heading = format!("{}, {} {plural}", note.heading, listed(&numbers));
        Note { heading, ..note }
    };
    grouped(notes).into_iter().map(with_numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 and 4 jobs share a warning, which is shown once; that of 2 jobs has other words and stays.
    #[test]
    fn what_several_runs_say_is_told_once() {
        let note = |text: &str| Note::plain("warning x", text);
        let sentences = merged_notes([(note("a"), 1), (note("b"), 2), (note("a"), 4)].into_iter());
        let plain = |jobs: &str, words| Note::plain(&format!("warning x, {jobs} jobs"), words);
        assert_eq!(sentences, [plain("1, 4", "a"), plain("2", "b")]);
    }

    /// A case: the leaders (number of jobs, name, and whether it is clear), the changes by their
    /// numbers of jobs, and the expected words.
    type Case<'a> = (&'a [(u32, &'a str, bool)], &'a [(u32, u32)], &'a str);

    /// The text also names a leader that is not settled.
    #[test]
    fn changes_are_told_by_their_numbers_of_jobs() {
        let (i, p) = ("interrupt", "poll");
        let cases: [Case<'_>; 7] = [
            (
                &[(4, i, true), (6, p, false), (8, p, true)],
                &[(4, 8)],
                "interrupt is recommended up to 4 jobs, poll from 8; not settled at 6 (poll)",
            ),
            (
                &[(1, i, true), (2, i, true)],
                &[],
                "interrupt is recommended at every number of jobs",
            ),
            (
                &[(1, i, true), (2, i, true), (4, p, false)],
                &[],
                "interrupt is recommended from 1 to 2 jobs; not settled at 4 (poll)",
            ),
            (
                &[(1, i, true), (2, p, true), (4, i, true)],
                &[(1, 2), (2, 4)],
                "interrupt is recommended up to 1 job, poll from 2, interrupt from 4",
            ),
            (
                &[(1, i, true), (2, i, false), (4, p, true)],
                &[(1, 4)],
                "interrupt is recommended up to 1 job, poll from 4; not settled at 2 (interrupt)",
            ),
            (
                &[(1, i, false), (2, p, false)],
                &[],
                "no recommendation is settled: interrupt at 1, poll at 2",
            ),
            (&[(2, p, true)], &[], "poll is recommended at 2 jobs"),
        ];
        for (leaders, changes, wanted) in cases {
            let leaders: Vec<Leader> = leaders
                .iter()
                .map(|&(jobs, method, clear)| Leader {
                    jobs,
                    method: method.parse().unwrap(),
                    clear,
                })
                .collect();
            let at = |jobs: u32| {
                leaders
                    .iter()
                    .find(|leader| leader.jobs == jobs)
                    .unwrap()
                    .method
                    .clone()
            };
            let change = |&(last, first): &(u32, u32)| LeadChange {
                last,
                first,
                from: at(last),
                to: at(first),
            };
            let changes: Vec<LeadChange> = changes.iter().map(change).collect();
            assert_eq!(
                recommendations(&leaders, &changes, ToString::to_string),
                wanted
            );
        }
    }
}

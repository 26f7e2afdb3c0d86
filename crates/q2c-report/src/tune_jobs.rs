//! Tables and sentences of `q2c tune` over several numbers of jobs, which terminal and page share.

use crate::course::{course, jobs};
use crate::quantity::{bare, seconds};
use crate::said::{Field, Said, Table, Weight};
use crate::{advice, invalid, label, metric};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::Check;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::{RecommendedOverJobs, TuneJobsResult, folder};

/// The run in a line: pattern, numbers of jobs, trials and duration.
pub(crate) fn about(result: &TuneJobsResult) -> String {
    let trials = result.runs.first().map_or_else(String::new, |run| {
        let trial = bare(&seconds(run.job.trial_seconds));
        let think = label::think(&run.job, "the I/Os of each");
        format!("{think}, {} of {trial} per cell", label::trials(run))
    });
    let rw = result.runs.first().map_or("", |run| run.job.rw.as_str());
    format!(
        "{rw}, {} jobs{trials} · took {}",
        list(&result.jobs),
        seconds(result.provenance.seconds)
    )
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

/// The block sizes with cells or answers, in the order of the runs.
pub(crate) fn block_sizes(result: &TuneJobsResult) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = Vec::new();
    for bs in result.runs.iter().flat_map(label::block_sizes) {
        if !sizes.contains(&bs) {
            sizes.push(bs);
        }
    }
    sizes
}

/// The heading of what is told about a block size: `4 KiB randread`.
pub(crate) fn title(result: &TuneJobsResult, bs: Bytes) -> String {
    let rw = result.runs.first().map_or("", |run| run.job.rw.as_str());
    format!("{bs} {rw}")
}

/// The method that the answer of `run` names at block size `bs`: the recommended one, or that of a
/// trade-off.
fn is_answer(run: &TuneResult, cell: &Cell) -> bool {
    let recommendation = label::recommendation_of(run, cell.bs);
    let nearest = recommendation.and_then(|r| r.nearest.as_ref());
    label::is_recommended(cell, recommendation) || nearest.is_some_and(|name| name.0 == cell.method)
}

/// The cells that are told over the numbers of jobs: interrupts, classic polling, Linux's rule, and
/// the methods that the answer names.
pub(crate) fn compared(run: &TuneResult, bs: Bytes) -> Vec<&Cell> {
    let roles = [Role::Baseline, Role::Linux].map(CellRole::Known);
    let cells = label::cells_of(run, bs).into_iter();
    cells
        .filter(|cell| roles.contains(&cell.role) || is_answer(run, cell))
        .collect()
}

/// The table of one block size: the compared methods at each number of jobs.
pub(crate) fn table(result: &TuneJobsResult, bs: Bytes) -> Table {
    let mut head = vec!["method".to_owned(), "jobs".to_owned()];
    head.extend(metric::over_jobs().map(|m| format!("{}\n{}", m.name, m.unit)));
    let rows = result.runs.iter().flat_map(|run| {
        let recommendation = label::recommendation_of(run, bs);
        compared(run, bs).into_iter().map(move |cell| {
            let mark = match label::is_recommended(cell, recommendation) {
                true => "▸ ",
                false => "",
            };
            let mut row = vec![
                Field::from(format!("{mark}{}", label::cell(cell))),
                Field::from(run.job.jobs.to_string()),
            ];
            row.extend(metric::over_jobs().map(|m| Field {
                text: m.median(cell),
                below: match m.with_range {
                    true => m.range(cell),
                    false => String::new(),
                },
            }));
            row
        })
    });
    Table {
        head,
        rows: rows.collect(),
        legend: "Medians over the trials; [min, max] below those beside polling (% poll, x poll), on which the verdicts stand. \
                 Interrupts, classic polling, Linux's rule and the methods that the answer names; ▸ is recommended.",
    }
}

/// The course of the recommendation over the number of jobs.
pub(crate) fn over_jobs(result: &TuneJobsResult, of: &RecommendedOverJobs) -> Said {
    // Where the same rule has other numbers at another number of jobs, its numbers stand in the
    // table only.
    let name = |method: &Method| {
        let alike = of.leaders.iter().map(|leader| &leader.method);
        let mut alike = alike.filter(|other| method.alike(other));
        match (alike.all(|other| other == method), rule(method)) {
            (false, Some(rule)) => format!("{} {rule} (numbers vary)", method.name()),
            _ => label::method(method),
        }
    };
    let words = course(&of.leaders, &of.changes, name);
    let clear = of.leaders.iter().all(|leader| leader.clear);
    let weight = match clear && result.complete {
        true => Weight::Good,
        false => Weight::Caution,
    };
    Said::new(weight, &of.bs.to_string(), words)
}

/// The name of a method's rule.
fn rule(method: &Method) -> Option<&'static str> {
    Some(method.lane()?.policy()?.rule().name)
}

/// The answer of each number of jobs at one block size, each with its caveats right under it.
pub(crate) fn answers(result: &TuneJobsResult, bs: Bytes) -> Vec<Said> {
    let answer = |run: &TuneResult| {
        let words = advice::words(run, label::recommendation_of(run, bs)?);
        let weight = match words.sure {
            true => Weight::Good,
            false => Weight::Caution,
        };
        let mut said = vec![Said::new(weight, &jobs(run.job.jobs), words.verdict)];
        let caveat = |words: String| Said::new(Weight::Caution, "caveat", words);
        said.extend(words.caveats.into_iter().map(caveat));
        Some(said)
    };
    result.runs.iter().filter_map(answer).flatten().collect()
}

/// Background jobs, and where the runs of the numbers of jobs are told whole.
pub(crate) fn notes(result: &TuneJobsResult) -> Vec<Said> {
    let mut said = in_each(result, "background", Weight::Plain, |run| {
        run.job.background.clone()
    });
    said.extend(in_each(result, "limit", Weight::Plain, |run| {
        run.job.limits.clone()
    }));
    let folders: Vec<String> = result.runs.iter().map(|r| folder(r.job.jobs)).collect();
    if !folders.is_empty() {
        let words = format!(
            "each number of jobs has a result and a report of its own, in {} of the run folder",
            folders.join(", ")
        );
        said.push(Said::plain("more", words));
    }
    said
}

/// What changes how the numbers are to be read: what is missing, methods that ran as another one,
/// warnings, and the doctor's checks.
pub(crate) fn cautions(result: &TuneJobsResult) -> Vec<Said> {
    let mut said = Vec::new();
    said.extend(result.failed.as_ref().map(|failed| {
        let words = format!("failed to {}", failed.reason);
        Said::new(Weight::Bad, &jobs(failed.jobs), words)
    }));
    let (begun, missing): (Vec<u32>, Vec<u32>) =
        result.jobs.iter().partition(|&&n| result.run(n).is_some());
    let stopped = |n: &u32| result.run(*n).is_some_and(|run| !run.complete);
    for n in begun.into_iter().filter(stopped) {
        let words = "the run was stopped early; what is shown is valid, cells are missing";
        said.push(Said::new(
            Weight::Bad,
            &format!("incomplete, {}", jobs(n)),
            words,
        ));
    }
    if !missing.is_empty() {
        let words = format!("nothing was measured with {} jobs", list(&missing));
        said.push(Said::new(Weight::Bad, "incomplete", words));
    }
    said.extend(result.runs.iter().filter_map(shared_cpus));
    said.extend(in_each(
        result,
        "effective mode",
        Weight::Bad,
        label::fallbacks,
    ));
    said.extend(in_each(result, "not available", Weight::Plain, |run| {
        let none = run.unavailable.iter();
        none.map(|none| format!("{}: {}", none.method, none.reason))
            .collect()
    }));
    let warnings = result.runs.iter().flat_map(|run| {
        let warnings = run.warnings.iter().map(Said::warning);
        warnings.map(|said| (run.job.jobs, said))
    });
    said.extend(once(warnings));
    let checks = result.runs.iter().flat_map(|run| {
        let told = |check: &Check| {
            let what = format!("doctor {}", check.id);
            Said::new(Weight::Bad, &what, invalid::told(check))
        };
        invalid::checks(&run.doctor).map(move |check| (run.job.jobs, told(check)))
    });
    said.extend(once(checks));
    said
}

/// Says so where a run has more jobs than CPUs.
fn shared_cpus(run: &TuneResult) -> Option<Said> {
    let mut cpus = run.job.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let fewer = !cpus.is_empty() && cpus.len() < run.job.jobs as usize;
    fewer.then(|| {
        let words = format!(
            "they share CPUs {}: a job that polls there takes the CPU from another",
            label::ranges(&cpus)
        );
        Said::new(Weight::Caution, &jobs(run.job.jobs), words)
    })
}

/// A sentence for each text that `of` finds in the runs.
fn in_each(
    result: &TuneJobsResult,
    what: &str,
    weight: Weight,
    of: impl Fn(&TuneResult) -> Vec<String>,
) -> Vec<Said> {
    let all = result.runs.iter().flat_map(|run| {
        let told = of(run).into_iter();
        told.map(|words| (run.job.jobs, Said::new(weight, what, words)))
    });
    once(all)
}

/// The sentences of several runs, each once, with the numbers of jobs that it is true of.
fn once(said: impl Iterator<Item = (u32, Said)>) -> Vec<Said> {
    let mut all: Vec<(Vec<u32>, Said)> = Vec::new();
    for (jobs, said) in said {
        match all.iter_mut().find(|(_, before)| *before == said) {
            Some((numbers, _)) => numbers.push(jobs),
            None => all.push((vec![jobs], said)),
        }
    }
    let told = |(mut numbers, said): (Vec<u32>, Said)| {
        numbers.dedup();
        let plural = if numbers == [1] { "job" } else { "jobs" };
        let what = format!("{}, {} {plural}", said.what, list(&numbers));
        Said { what, ..said }
    };
    all.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warning of 1 and 4 jobs is told once, that of 2 jobs in other words apart.
    #[test]
    fn what_several_runs_say_is_told_once() {
        let said = |words: &str| Said::plain("warning x", words);
        let told = once([(1, said("a")), (2, said("b")), (4, said("a"))].into_iter());
        let told: Vec<(&str, &str)> = told
            .iter()
            .map(|s| (s.what.as_str(), s.words.as_str()))
            .collect();
        assert_eq!(
            told,
            [("warning x, 1, 4 jobs", "a"), ("warning x, 2 jobs", "b")]
        );
    }
}

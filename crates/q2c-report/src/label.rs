//! Names of cells and methods, and whether a cell ran as it was asked to.

use crate::late;
use crate::mode::{self, Kept};
use crate::proof;
use crate::quantity;
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_result::Target;
use q2c_result::late::LateTime;
use q2c_result::mode::{EffectiveMode, Mode, ModeKind};
use q2c_result::tune::{Cell, Job, Recommendation, TuneResult};

/// The name of a method with its policy: `poll`, `hybrid min:ratio=70%,period=10ms`.
pub(crate) fn method(method: &Method) -> String {
    match method.detail() {
        detail if detail.is_empty() => method.name().to_owned(),
        detail => format!("{} {detail}", method.name()),
    }
}

/// What is best, as it is written in a sentence: `KIOPS/core`, `IOPS`, `CPU`.
pub(crate) fn objective(name: &str) -> &str {
    match name {
        "kiops-per-core" => "KIOPS/core",
        "iops" => "IOPS",
        "cpu" => "CPU",
        other => other,
    }
}

/// What was measured on, for a title: the path, or of a scratch file, whose path is gone at the end
/// of the run, its size and its disk.
pub(crate) fn target(target: &Target) -> String {
    let name = target.path.rsplit('/').next().unwrap_or_default();
    let numbers = name
        .strip_prefix("scratch-")
        .and_then(|rest| rest.strip_suffix(".bin"));
    let made = numbers.is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-'));
    if !made {
        return target.path.clone();
    }
    let on = target
        .device
        .as_ref()
        .map_or_else(String::new, |disk| format!(" on {}", disk.name));
    format!("scratch file of {}{on}", target.size)
}

/// The name of a cell: that of its method.
pub(crate) fn cell(cell: &Cell) -> String {
    method(&cell.method)
}

/// The block sizes of a result: those of the job, then those that only cells have.
pub(crate) fn block_sizes(result: &TuneResult) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = Vec::new();
    let asked = result.job.block_sizes.iter().copied();
    for bs in asked.chain(result.cells.iter().map(|cell| cell.bs)) {
        if !sizes.contains(&bs) {
            sizes.push(bs);
        }
    }
    sizes
}

/// The cells of one block size, in the order of the result.
pub(crate) fn cells_of(result: &TuneResult, bs: Bytes) -> Vec<&Cell> {
    result.cells.iter().filter(|cell| cell.bs == bs).collect()
}

/// The recommendation for one block size.
pub(crate) fn recommendation_of(result: &TuneResult, bs: Bytes) -> Option<&Recommendation> {
    result.recommendation.iter().find(|r| r.bs == bs)
}

/// Whether `recommendation` names this cell.
pub(crate) fn is_recommended(cell: &Cell, recommendation: Option<&Recommendation>) -> bool {
    recommendation.is_some_and(|r| r.bs == cell.bs && r.method == cell.method)
}

/// The late time of each cell that was to have one: the cell and a sentence for each finding, or
/// why there is none. Cells that have none for the same reason share it.
pub(crate) fn late(result: &TuneResult) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for of in &result.cells {
        let told = match &of.late {
            None => continue,
            Some(LateTime::Unseen(why)) => (late::unseen(why), Vec::new()),
            Some(late) => (format!("{} {}", of.bs, cell(of)), late::told(late)),
        };
        if !all.contains(&told) {
            all.push(told);
        }
    }
    all
}

/// A sentence for each cell that ran another method than was asked for, with the counts that prove
/// it.
pub(crate) fn fallbacks(result: &TuneResult) -> Vec<String> {
    let cells = result.cells.iter();
    let differs = cells.filter(|cell| mode::kept(&cell.effective_mode) == Kept::Differs);
    // A stopped run has cells that were not reached; the verdict names them.
    let not_reached = |cell: &Cell| cell.effective_mode.was == Mode::of(ModeKind::NotRun);
    let differs = differs.filter(|cell| !not_reached(cell));
    let told = |of: &Cell| {
        let mode = &of.effective_mode;
        let (name, was) = (cell(of), mode::words(&mode.was));
        format!(
            "{} {name}: asked {}, was {was} ({})",
            of.bs,
            mode.asked,
            proof(mode)
        )
    };
    differs.map(told).collect()
}

/// The proof of an effective mode in one line: `I/Os 1200, device interrupts 3`.
pub(crate) fn proof(effective: &EffectiveMode) -> String {
    let counts = proof::words(&effective.proof).into_iter();
    let counts = counts.map(|(name, value)| format!("{name} {value}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// The trials of a cell, as they were run.
pub(crate) fn trials(result: &TuneResult) -> String {
    let run = result.cells.iter();
    let run = run.map(|cell| cell.measured.rates.iops.trials);
    quantity::trials(result.job.trials, run)
}

/// The measured job in one line: `randread, 2 jobs on CPUs 2, 3, 5 trials of 10 s per cell`.
pub(crate) fn job(result: &TuneResult) -> String {
    let job = &result.job;
    let plural = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let cpus: Vec<String> = job.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let mut text = format!("{}, {}", job.rw, plural(job.jobs, "job"));
    if !cpus.is_empty() {
        let cpu = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        text += &format!(" on {cpu} {}", cpus.join(", "));
    }
    let of = match job.jobs {
        1 => "its I/Os",
        _ => "the I/Os of each",
    };
    text += &think(job, of);
    let trial = quantity::bare(&quantity::seconds(job.trial_seconds));
    text + &format!(", {} of {trial} per cell", trials(result))
}

/// The think time of a job, between I/Os that are called `of`: ` with 200 us between its I/Os`.
pub(crate) fn think(job: &Job, of: &str) -> String {
    let words = |ns| {
        let time = quantity::bare(&quantity::duration(ns));
        format!(" with {time} between {of}")
    };
    job.think_ns.map_or_else(String::new, words)
}

/// CPUs as the kernel lists them, such as `0-3,8`; `cpus` must be in ascending order.
pub(crate) fn ranges(cpus: &[CpuId]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu.0) => *last = cpu.0,
            _ => runs.push((cpu.0, cpu.0)),
        }
    }
    let run = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// At most `most` names, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_names(names: &[String], most: usize) -> String {
    let first = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_file_is_named_by_its_size_and_disk() {
        let mut of = Target {
            path: "runs/scratch-1767225600-42.bin".to_owned(),
            size: Bytes(1 << 30),
            ..Target::default()
        };
        assert_eq!(target(&of), "scratch file of 1 GiB");
        of.path = "scratch-mine.bin".to_owned();
        assert_eq!(target(&of), "scratch-mine.bin");
    }

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        let cpus = [0, 1, 2, 8, 10, 11].map(CpuId);
        assert_eq!(ranges(&cpus), "0-2,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}

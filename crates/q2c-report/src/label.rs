//! Names of cells and methods, and sentences on cells that ran otherwise than asked.

use crate::mode::{self, ModeMatch};
use crate::phrase::{counted, distinct, joined, listed, listed_if_any};
use crate::quantity::iops;
use crate::{late_time, quantity};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_result::Target;
use q2c_result::late::LateTime;
use q2c_result::mode::{EffectiveMode, ModeKind, WaitMode};
use q2c_result::tune::{Cell, Job, Recommendation, TuneResult};
use std::fmt::Display;

/// The name of a method with its policy: `poll`, `hybrid min:ratio=70%,period=10ms`.
pub(crate) fn method(method: &Method) -> String {
    let text = format!("{} {}", method.name(), method.detail());
    text.trim_end().to_owned()
}

/// The objective as a sentence names it: `KIOPS/core`, `IOPS`, `CPU`.
pub(crate) fn objective(name: &str) -> &str {
    match name {
        "kiops-per-core" => "KIOPS/core",
        "iops" => "IOPS",
        "cpu" => "CPU",
        other => other,
    }
}

/// The measured file or device for a title: its path; for a scratch file, which is deleted at the
/// end of the run, its size and its disk.
pub(crate) fn target(target: &Target) -> String {
    let name = target.path.rsplit('/').next().unwrap_or_default();
    let numbers = name.strip_prefix("scratch-");
    let numbers = numbers.and_then(|rest| rest.strip_suffix(".bin"));
    if !numbers.is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-')) {
        return target.path.clone();
    }
    let disk = target.device.as_ref();
    let disk = disk.map_or(String::new(), |disk| format!(" on {}", disk.name));
    format!("scratch file of {}{disk}", target.size)
}

/// The target's short trials in a line, that of the chosen CPU first; `None` without trials:
/// `CPU 1: at best 16.4 K IOPS by interrupts, 18.0 K by polling (CPU 0: 11.9 K, 17.8 K)`. These
/// best values are higher than the medians of the long trials in a table.
#[must_use]
pub fn cpu_trials(target: &Target) -> Option<String> {
    let chosen = target.chosen_trial()?;
    let others = target.cpu_trials.iter().filter(|trial| !trial.chosen);
    let others = others.map(|other| {
        let rates = [Some(other.interrupt_iops), other.poll_iops];
        let rates = rates.into_iter().flatten().map(iops);
        format!("{}: {}", other.cpu, listed(rates))
    });
    let polled = |rate| format!(", {} by polling", iops(rate));
    Some(format!(
        "{}: at best {} IOPS by interrupts{} ({}); short trials, only to choose the CPU",
        chosen.cpu,
        iops(chosen.interrupt_iops),
        chosen.poll_iops.map(polled).unwrap_or_default(),
        joined(others, "; ")
    ))
}

/// The block sizes of a result: first the job's, then any others of cells.
pub(crate) fn block_sizes(result: &TuneResult) -> Vec<Bytes> {
    let asked = result.job.block_sizes.iter().copied();
    distinct(asked.chain(result.cells.iter().map(|cell| cell.bs)))
}

pub(crate) fn cells_of(result: &TuneResult, bs: Bytes) -> Vec<&Cell> {
    result.cells.iter().filter(|cell| cell.bs == bs).collect()
}

pub(crate) fn recommendation_of(result: &TuneResult, bs: Bytes) -> Option<&Recommendation> {
    result.recommendation.iter().find(|r| r.bs == bs)
}

pub(crate) fn is_recommended(cell: &Cell, recommendation: Option<&Recommendation>) -> bool {
    recommendation.is_some_and(|r| r.bs == cell.bs && r.method == cell.method)
}

/// Late time of each cell for which it was asked: the cell's name and a sentence for each finding,
/// or the reason why there is no late time. Cells with the same reason share a line.
pub(crate) fn late_time_of_cells(result: &TuneResult) -> Vec<Vec<String>> {
    let sentences = |cell: &Cell| match cell.late.as_ref()? {
        LateTime::Unseen(cause) => Some(vec![late_time::absence(cause)]),
        late => Some([vec![sized_name(cell)], late_time::sentences(late)].concat()),
    };
    distinct(result.cells.iter().filter_map(sentences))
}

fn sized_name(cell: &Cell) -> String {
    format!("{} {}", cell.bs, method(&cell.method))
}

/// A sentence for each cell that ran another method than asked, with the counts that prove it.
pub(crate) fn fallbacks(result: &TuneResult) -> Vec<String> {
    let cells = result.cells.iter().filter(|cell| {
        // A stopped run has cells that never ran; the verdict names them.
        let has_run = cell.effective_mode.mode != WaitMode::from_kind(ModeKind::NotRun);
        has_run && mode::mode_match(&cell.effective_mode) == ModeMatch::Differs
    });
    let sentence = |cell| format!("{}: {}", sized_name(cell), fallback(&cell.effective_mode));
    cells.map(sentence).collect()
}

/// The mode that was asked, the mode that ran, and the proof.
/// Example: `asked poll, was interrupt (I/Os 1200)`.
pub(crate) fn fallback(mode: &EffectiveMode) -> String {
    let (was, proof) = (mode::label(&mode.mode), mode::proof_text(&mode.proof));
    format!("asked {}, was {was} ({proof})", mode.asked)
}

pub(crate) fn trials(result: &TuneResult) -> String {
    let cells = result.cells.iter();
    let counts = cells.map(|cell| cell.measured.rates.iops.trials);
    quantity::trials(result.job.trials, counts)
}

/// The measured job in one line: `randread, 2 jobs on CPUs 2, 3, 5 trials of 10 s per cell`.
pub(crate) fn job(result: &TuneResult) -> String {
    let job = &result.job;
    let mut text = format!("{}, {}", job.rw, counted(job.jobs, "job"));
    if let Some(cpus) = listed_if_any(job.cpus.iter().map(|cpu| cpu.0)) {
        let cpu = if job.cpus.len() == 1 { "CPU" } else { "CPUs" };
        text += &format!(" on {cpu} {cpus}");
    }
    let ios = match job.jobs {
        1 => "its I/Os",
        _ => "the I/Os of each",
    };
    text += &think_time(job, ios);
    let trial = quantity::trim_zeros(&quantity::seconds(job.trial_seconds));
    text + &format!(", {} of {trial} per cell", trials(result))
}

/// The think time of a job as a suffix. `ios` names the I/Os: ` with 200 us between its I/Os`.
pub(crate) fn think_time(job: &Job, ios: &str) -> String {
    let time = |ns| quantity::trim_zeros(&quantity::duration(ns));
    let suffix = |ns| format!(" with {} between {ios}", time(ns));
    job.think_ns.map(suffix).unwrap_or_default()
}

/// CPUs as the kernel lists them, such as `0-3,8`; `cpus` must be in ascending order.
pub(crate) fn cpu_ranges(cpus: &[CpuId]) -> String {
    let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
    number_ranges(&numbers, ",")
}

/// Numbers in ascending order, with neighbours as ranges and `between` between them: `0-3, 8`.
pub(crate) fn number_ranges(numbers: &[u32], between: &str) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    joined(runs.map(|run| range(run[0], run[run.len() - 1])), between)
}

/// `4-7`, or `4` if both ends are 4.
pub(crate) fn range<N: Copy + PartialEq + Display>(from: N, to: N) -> String {
    if from == to {
        from.to_string()
    } else {
        format!("{from}-{to}")
    }
}

/// The first `n` names, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_names(names: &[String], n: usize) -> String {
    let listed_names = names[..names.len().min(n)].join(", ");
    match names.len().saturating_sub(n) {
        0 => listed_names,
        more => format!("{listed_names} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::CpuTrial;

    #[test]
    fn a_scratch_file_is_named_by_its_size_and_disk() {
        let mut scratch_file = Target {
            path: "runs/scratch-1767225600-42.bin".to_owned(),
            size: Bytes(1 << 30),
            ..Target::default()
        };
        assert_eq!(target(&scratch_file), "scratch file of 1 GiB");
        scratch_file.path = "scratch-mine.bin".to_owned();
        assert_eq!(target(&scratch_file), "scratch-mine.bin");
    }

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        let cpus = [0, 1, 2, 8, 10, 11].map(CpuId);
        assert_eq!(cpu_ranges(&cpus), "0-2,8,10-11");
        assert_eq!(cpu_ranges(&[]), "");
    }

    #[test]
    fn the_others_stand_beside_the_chosen_one() {
        let trial = |cpu, chosen, interrupt_iops, poll_iops| CpuTrial {
            cpu: CpuId(cpu),
            chosen,
            interrupt_iops,
            poll_iops,
        };
        let two = Target {
            cpu_trials: vec![
                trial(0, false, 11_900.0, Some(17_800.0)),
                trial(1, true, 16_400.0, Some(18_000.0)),
            ],
            ..Target::default()
        };
        let wanted = "CPU 1: at best 16.4 K IOPS by interrupts, 18.0 K by polling (CPU 0: 11.9 K, \
                      17.8 K); short trials, only to choose the CPU";
        assert_eq!(cpu_trials(&two).unwrap(), wanted);
        assert_eq!(cpu_trials(&Target::default()), None);
    }
}

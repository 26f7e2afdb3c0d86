//! What a cell is called, and whether it was what it was asked to be.

use crate::quantity;
use q2c_model::{Bytes, CpuId};
use q2c_result::tune::{Cell, EffectiveMode, Recommendation, TuneResult};

/// The name of a method with its policy: `poll`, `hybrid min:70%,10ms`.
pub(crate) fn method(method: &str, policy: &str) -> String {
    match policy {
        "" => method.to_owned(),
        policy => format!("{method} {policy}"),
    }
}

/// A cell's name.
pub(crate) fn cell(cell: &Cell) -> String {
    method(&cell.method, &cell.policy)
}

/// The block sizes of a result: those of the job, then any that only cells have.
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

/// The cells of one block size, in the order measured.
pub(crate) fn cells_of(result: &TuneResult, bs: Bytes) -> Vec<&Cell> {
    result.cells.iter().filter(|cell| cell.bs == bs).collect()
}

/// The recommendation for one block size.
pub(crate) fn recommendation_of(result: &TuneResult, bs: Bytes) -> Option<&Recommendation> {
    result.recommendation.iter().find(|r| r.bs == bs)
}

/// Whether `cell` is what `recommendation` names.
pub(crate) fn is_recommended(cell: &Cell, recommendation: Option<&Recommendation>) -> bool {
    recommendation
        .is_some_and(|r| r.bs == cell.bs && r.method == cell.method && r.policy == cell.policy)
}

/// What a cell was, as against what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Exactly what was asked.
    AsAsked,
    /// The method asked for, by a means that is worth knowing: `poll` that was `poll (ring)`.
    ByOtherMeans,
    /// Another method altogether: `poll` that was `interrupt`.
    Differs,
}

/// Compares what was asked with what was.
pub(crate) fn mode(effective: &EffectiveMode) -> Mode {
    let head = |text: &str| -> String {
        text.chars()
            .take_while(|c| !matches!(c, ':' | ' ' | '('))
            .collect()
    };
    let (asked, was) = (head(&effective.asked), head(&effective.was));
    if asked != was {
        Mode::Differs
    } else if was == effective.was {
        Mode::AsAsked
    } else {
        Mode::ByOtherMeans
    }
}

/// The proof of an effective mode in one line: `device interrupts 3, polls 1200`.
pub(crate) fn proof(effective: &EffectiveMode) -> String {
    let counts = effective
        .proof
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// The measured job in one line: `randread, 2 jobs on CPU 2, CPU 3, 5 trials of 10 s`.
pub(crate) fn job(result: &TuneResult) -> String {
    let job = &result.job;
    let plural = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let cpus: Vec<String> = job.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let mut text = format!("{}, {}", job.rw, plural(job.jobs, "job"));
    if !cpus.is_empty() {
        let cpu = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        text += &format!(" on {cpu} {}", cpus.join(", "));
    }
    let trial = quantity::bare(&quantity::seconds(job.trial_seconds));
    text + &format!(", {} of {trial} per cell", plural(job.trials, "trial"))
}

/// CPUs as the kernel lists them: `0-3,8`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fallback_is_told_from_a_detail() {
        let of = |asked: &str, was: &str| {
            mode(&EffectiveMode {
                asked: asked.into(),
                was: was.into(),
                ..EffectiveMode::default()
            })
        };
        assert_eq!(of("poll", "poll"), Mode::AsAsked);
        assert_eq!(of("hybrid:min,70%,10ms", "hybrid"), Mode::AsAsked);
        assert_eq!(
            of("hybrid:min,70%,10ms", "hybrid (ring)"),
            Mode::ByOtherMeans
        );
        assert_eq!(of("poll", "interrupt"), Mode::Differs);
        assert_eq!(of("hybrid-uring", "hybrid (ring)"), Mode::Differs);
    }

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        let cpus = [0, 1, 2, 8, 10, 11].map(CpuId);
        assert_eq!(ranges(&cpus), "0-2,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}

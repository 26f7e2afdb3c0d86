//! Short trials of a target from several CPUs. An interrupt that arrives at another CPU has to wake
//! the job there, so one job's IOPS can differ by a third from CPU to CPU.

use crate::workload::{Stages, Step, Workload};
use q2c_engine::{EngineSpec, RunError, Wait};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_result::CpuTrial;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most CPUs that are tried.
pub const MOST_CPUS: usize = 4;
/// Each CPU is tried as often, in turns. Its best rounds count, since a neighbour only takes away.
const ROUNDS: usize = 3;
/// What is measured of each method in a round, and the time before it that does not count.
const PART: Nanos = Nanos::from_millis(50);
const WARM_UP: Nanos = Nanos::from_millis(10);
/// A CPU is chosen over the first candidate where it reaches more than this share of its IOPS.
const CLEARLY: f64 = 1.05;

/// Runs one job of depth 1 on each of the candidates in turn, by interrupts and by polling, and
/// chooses one: the first, unless another one is clearly faster over both. Returns nothing where
/// the run is stopped or an I/O fails.
///
/// # Errors
/// A lane cannot be set up, or an engine breaks.
pub fn cpu_trials(
    workload: &Workload,
    bs: Bytes,
    candidates: &[CpuId],
    seed: u64,
    stop: &AtomicBool,
) -> Result<Vec<CpuTrial>, RunError> {
    let mut seen: Vec<Seen> = candidates.iter().map(|_| Seen::default()).collect();
    for round in 0..ROUNDS {
        for (&cpu, seen) in candidates.iter().zip(&mut seen) {
            let seed = seed.wrapping_add(round as u64);
            if !once(workload, bs, cpu, seed, stop, seen)? {
                return Ok(Vec::new());
            }
        }
    }
    let mut trials: Vec<CpuTrial> = candidates
        .iter()
        .zip(&seen)
        .map(|(&cpu, seen)| CpuTrial {
            cpu,
            chosen: false,
            interrupt_iops: most(&seen.interrupt),
            poll_iops: (!seen.poll.is_empty()).then(|| most(&seen.poll)),
        })
        .collect();
    if let Some(at) = best(&trials) {
        trials[at].chosen = true;
    }
    Ok(trials)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// IOPS of one CPU, one value for each round.
#[derive(Default)]
struct Seen {
    interrupt: Vec<f64>,
    poll: Vec<f64>,
}

/// One round on one CPU; false where it was stopped or an I/O failed.
fn once(
    workload: &Workload,
    bs: Bytes,
    cpu: CpuId,
    seed: u64,
    stop: &AtomicBool,
    seen: &mut Seen,
) -> Result<bool, RunError> {
    let alone = Workload {
        cpus: vec![cpu],
        background: Vec::new(),
        sampler_cpu: None,
        ..workload.clone()
    };
    let mut stages = Stages::default();
    let interrupt = part(&mut stages, LaneMethod::Interrupt);
    let polls = can_poll(&workload.engine);
    let poll = polls.then(|| part(&mut stages, LaneMethod::Poll));
    let watched = alone.run(bs, &stages, seed, None, stop)?;
    if stop.load(Ordering::Relaxed) || watched.fault.is_some() {
        return Ok(false);
    }
    seen.interrupt.push(watched.stats(interrupt).iops());
    seen.poll
        .extend(poll.map(|poll| watched.stats(poll).iops()));
    Ok(true)
}

fn part(stages: &mut Stages, method: LaneMethod) -> crate::workload::StageId {
    stages.then(Step::By(method), WARM_UP);
    stages.then(Step::Same, PART)
}

/// Whether one job of depth 1 can poll by this engine.
pub fn can_poll(engine: &EngineSpec) -> bool {
    engine.refuses(1, &Wait::Poll).is_none()
}

/// The place of the best trial: the geometric mean over both methods decides, and the first one
/// stays unless another is clearly better. `None` without trials.
fn best(trials: &[CpuTrial]) -> Option<usize> {
    let score = |trial: &CpuTrial| match trial.poll_iops {
        Some(poll) => (trial.interrupt_iops * poll).sqrt(),
        None => trial.interrupt_iops,
    };
    let scores: Vec<f64> = trials.iter().map(score).collect();
    let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]);
    let most = (0..scores.len()).max_by(by_score)?;
    match scores[most] > scores[0] * CLEARLY {
        true => Some(most),
        false => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(cpu: u32, interrupt_iops: f64, poll_iops: impl Into<Option<f64>>) -> CpuTrial {
        CpuTrial {
            cpu: CpuId(cpu),
            chosen: false,
            interrupt_iops,
            poll_iops: poll_iops.into(),
        }
    }

    #[test]
    fn the_clearly_fastest_cpu_is_chosen() {
        assert_eq!(best(&[]), None);
        // A third more by interrupts; by polling they are alike.
        let near = [trial(0, 12e3, 18e3), trial(1, 16e3, 17.5e3)];
        assert_eq!(best(&near), Some(1));
        // Noise moves nobody from the first.
        let alike = [trial(0, 12e3, 18e3), trial(1, 12.3e3, 18.2e3)];
        assert_eq!(best(&alike), Some(0));
        // What interrupts gain, polling loses.
        let opposed = [trial(0, 12e3, 18e3), trial(1, 16e3, 13.5e3)];
        assert_eq!(best(&opposed), Some(0));
        assert_eq!(best(&[trial(0, 9e3, None), trial(1, 10e3, None)]), Some(1));
    }
}

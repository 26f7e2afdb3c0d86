//! Short trials of a target from several CPUs. An interrupt that arrives at another CPU has to wake
//! the job there, so one job's IOPS can differ by a third from CPU to CPU.

use crate::workload::{StageId, Stages, Step, Workload};
use q2c_engine::{RunError, Wait};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_result::CpuTrial;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most CPUs that are tried.
pub(crate) const MOST_CPUS: usize = 4;
/// Each CPU is tried as often, in turns. Its best rounds count, since a neighbour only takes away.
const ROUNDS: u64 = 3;
/// What is measured of each method in a round, and the time before it that does not count.
const PART: Nanos = Nanos::from_millis(50);
const WARM_UP: Nanos = Nanos::from_millis(10);
/// A CPU is chosen over the first candidate where it reaches more than this share of its IOPS.
const CLEARLY: f64 = 1.05;

/// Runs one job of depth 1 on each candidate by interrupts and by polling, and chooses the first,
/// unless another is clearly faster. Nothing when the run is stopped or an I/O fails.
pub(crate) fn cpu_trials(
    workload: &Workload,
    bs: Bytes,
    candidates: &[CpuId],
    seed: u64,
    stop: &AtomicBool,
) -> Result<Vec<CpuTrial>, RunError> {
    let untried = |&cpu| CpuTrial {
        cpu,
        ..CpuTrial::default()
    };
    let mut trials: Vec<CpuTrial> = candidates.iter().map(untried).collect();
    for round in 0..ROUNDS {
        let seed = seed.wrapping_add(round);
        for trial in &mut trials {
            if !once(workload, bs, seed, stop, trial)? {
                return Ok(Vec::new());
            }
        }
    }
    if let Some(at) = best(&trials) {
        trials[at].chosen = true;
    }
    Ok(trials)
}

/// One round, of which the trial keeps the best; false where it was stopped or an I/O failed.
fn once(
    workload: &Workload,
    bs: Bytes,
    seed: u64,
    stop: &AtomicBool,
    trial: &mut CpuTrial,
) -> Result<bool, RunError> {
    let alone = Workload {
        cpus: vec![trial.cpu],
        background: Vec::new(),
        sampler_cpu: None,
        ..workload.clone()
    };
    let mut stages = Stages::default();
    let interrupt = part(&mut stages, LaneMethod::Interrupt);
    let polls = workload.engine.refuses(1, &Wait::Poll).is_none();
    let poll = polls.then(|| part(&mut stages, LaneMethod::Poll));
    let watched = alone.run(bs, &stages, seed, None, stop)?;
    if stop.load(Ordering::Relaxed) || watched.fault.is_some() {
        return Ok(false);
    }
    let best = |so_far: f64, stage| so_far.max(watched.stats(stage).iops());
    trial.interrupt_iops = best(trial.interrupt_iops, interrupt);
    trial.poll_iops = poll.map(|poll| best(trial.poll_iops.unwrap_or(0.0), poll));
    Ok(true)
}

fn part(stages: &mut Stages, method: LaneMethod) -> StageId {
    stages.then(Step::By(method), WARM_UP);
    stages.then(Step::Same, PART)
}

/// The place of the best trial by the geometric mean over both methods. `None` without trials.
fn best(trials: &[CpuTrial]) -> Option<usize> {
    let score = |trial: &CpuTrial| {
        let interrupt = trial.interrupt_iops;
        trial
            .poll_iops
            .map_or(interrupt, |poll| (interrupt * poll).sqrt())
    };
    let scores: Vec<f64> = trials.iter().map(score).collect();
    let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]);
    let most = (0..scores.len()).max_by(by_score)?;
    Some(if scores[most] > scores[0] * CLEARLY {
        most
    } else {
        0
    })
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

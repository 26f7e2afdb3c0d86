//! Chooses the CPUs of a workload; for the first job, by short trials of the target. An interrupt
//! that arrives at another CPU has to wake the job across CPUs. So one job's IOPS can differ by a
//! third from CPU to CPU.

use crate::polling::{IopollSupport, iopoll_support, too_large};
use crate::workbench::WorkloadRequest;
use crate::workload::{Background, BackgroundSpec, Site, StageId, Stages, Step, Workload};
use crate::workload_target::MIN_BLOCKS;
use q2c_engine::engines::{RingKind, SimDevices, VectoredFlags};
use q2c_engine::{EngineSpec, Medium, Pattern, RunError, Wait, World};
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::topology::{AllowedCpus, ChosenCpus, Topology, UnnamedCpus, interrupted_cpus};
use q2c_model::{Bytes, CpuId, Fault, Nanos};
use q2c_policy::LaneMethod;
use q2c_result::{CpuTrial, Target, TargetKind};
use q2c_sys::Clock;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The CPUs of the simulated world, or those that the kernel allows this process.
pub(crate) fn allowed_cpus(world: Option<&World>) -> Result<AllowedCpus, Fault> {
    match world {
        Some(world) => Ok(AllowedCpus::from_sorted(world.cpus())),
        None => AllowedCpus::read(),
    }
}

pub(crate) struct WorkloadCpus {
    pub(crate) foreground: Vec<CpuId>,
    /// A CPU for the sampler and for background jobs that name none. It has no foreground job, and
    /// if possible no other. `None` if every allowed CPU has a foreground job.
    pub(crate) spare: Option<CpuId>,
    /// CPUs worth a short trial, the first job's at the front; empty if the user named CPUs.
    pub(crate) candidates: Vec<CpuId>,
    allowed: AllowedCpus,
    order: ChosenCpus,
}

impl WorkloadCpus {
    pub(crate) fn choose(
        request: &WorkloadRequest,
        roots: &Roots,
        disk: Option<&TargetDisk>,
        world: Option<&World>,
    ) -> Result<Self, Fault> {
        let allowed = allowed_cpus(world)?;
        let named = Some(request.cpus.as_slice()).filter(|named| !named.is_empty());
        let interrupted = match world {
            Some(_) => Vec::new(),
            None => interrupted_cpus(roots, disk),
        };
        let order = allowed.choose(named, UnnamedCpus::AwayFrom(&interrupted))?;
        let candidates = match (named, order.cpus.first()) {
            (None, Some(&first)) if world.is_none() => {
                let topology = Topology::read(roots);
                allowed.candidates(&topology, first, &interrupted, MAX_TRIED_CPUS)
            }
            _ => Vec::new(),
        };
        Ok(WorkloadCpus::new(request, allowed, order, candidates))
    }

    fn new(
        request: &WorkloadRequest,
        allowed: AllowedCpus,
        order: ChosenCpus,
        candidates: Vec<CpuId>,
    ) -> Self {
        let foreground = order.first(request.jobs as usize);
        let background = request.background.iter().flat_map(|job| &job.cpus);
        let background: Vec<CpuId> = background.copied().collect();
        WorkloadCpus {
            spare: allowed.spare(&foreground, &background),
            foreground,
            candidates,
            allowed,
            order,
        }
    }

    pub(crate) fn beginning_with(self, first: CpuId, request: &WorkloadRequest) -> Self {
        let order = self.order.beginning_with(first);
        WorkloadCpus::new(request, self.allowed, order, self.candidates)
    }

    pub(crate) fn background(&self, request: &WorkloadRequest) -> Vec<BackgroundSpec> {
        let background = Background(request.background.clone());
        let cpu = self.spare.unwrap_or(self.foreground[0]);
        background.placed_on(cpu).0
    }
}

impl Background {
    /// The same jobs, each with CPUs. A job that names none gets an allowed CPU that is still free,
    /// else the first of `foreground`, which must not be empty.
    pub fn placed_beside(&self, foreground: &[CpuId]) -> Result<Self, Fault> {
        let named: Vec<CpuId> = self.0.iter().flat_map(|job| &job.cpus).copied().collect();
        let spare = AllowedCpus::read()?.spare(foreground, &named);
        Ok(self.placed_on(spare.unwrap_or(foreground[0])))
    }
}

pub(crate) struct CpuChoice<'a> {
    /// The ring engine on the path that the device gives it.
    pub(crate) engine: EngineSpec,
    pub(crate) workload: &'a Workload,
    pub(crate) seed: u64,
    /// Block size; `None` if the workload has none.
    pub(crate) bs: Option<Bytes>,
}

impl CpuChoice<'_> {
    /// Tries the target from each candidate, if there is a device and a choice. Notes the results.
    pub(crate) fn run_trials(&self, candidates: &[CpuId], target: &mut Target, stop: &AtomicBool) {
        let (Some(bs), true) = (self.bs, target.device.is_some() && candidates.len() > 1) else {
            return;
        };
        let workload = Workload {
            engine: self.working_engine(bs),
            ..self.workload.clone()
        };
        match cpu_trials(&workload, bs, candidates, self.seed, stop) {
            Ok(trials) => target.cpu_trials = trials,
            Err(error) => {
                let unproved = format!("which CPU is the fastest: the trials failed to {error}");
                target.unproved.push(unproved);
            }
        }
    }

    /// The ring engine, or preadv2 if a ring cannot be opened.
    fn working_engine(&self, bs: Bytes) -> EngineSpec {
        let takes_commands = self.engine.needs_character_device();
        let (medium, size) = (&self.workload.medium, bs.0 as usize);
        match self.engine.open(medium, 1, size, self.seed) {
            Err(_) if !takes_commands => EngineSpec::Pvsync2(VectoredFlags::default()),
            _ => self.engine.clone(),
        }
    }
}

/// The ring engine on the path that the target's device gives it for blocks of `bs`.
pub(crate) fn ring_engine(
    kind: RingKind,
    polling: &IopollSupport,
    bs: Option<Bytes>,
    target: &Target,
) -> EngineSpec {
    let by_device = EngineSpec::ByDevice(kind);
    let polled = by_device.clone().with_path(polling.is_ok());
    let unsplit = target.device.as_ref().and_then(|device| device.unsplit);
    match bs.and_then(|bs| too_large(&polled, bs, unsplit)) {
        Some(_) => by_device.with_path(false),
        None => polled,
    }
}

/// Reads an open target from several CPUs for a moment each, and notes the results. Skips targets
/// that are too small or take only NVMe commands.
pub fn try_cpus(
    roots: &Roots,
    file: File,
    facts: &mut Target,
    target_disk: Option<TargetDisk>,
    stop: &AtomicBool,
) -> Result<(), Fault> {
    let device = facts.device.as_ref();
    let block = device.and_then(|device| device.logical_block);
    let bs = block.map_or(MIN_READ, |block| block.max(MIN_READ));
    if facts.kind == TargetKind::NvmeGeneric || facts.size.0 < bs.0 * MIN_BLOCKS {
        return Ok(());
    }
    let pattern = Pattern::RANDREAD;
    let request = WorkloadRequest::new(&facts.path, pattern, vec![bs]);
    let cpus = WorkloadCpus::choose(&request, roots, target_disk.as_ref(), None)?;
    let medium = Medium::File(Arc::new(file));
    let polling = iopoll_support(RingKind::File, &medium, facts);
    let workload = Workload {
        engine: EngineSpec::Null,
        medium,
        simulated: SimDevices::new(q2c_study::service_times),
        pattern: request.pattern,
        think: None,
        span: facts.size,
        cpus: Vec::new(),
        background: Vec::new(),
        sampler_cpu: None,
        site: Site {
            target_disk,
            ..Site::without_disk(roots.clone(), Clock::new())
        },
    };
    let choice = CpuChoice {
        engine: ring_engine(RingKind::File, &polling, Some(bs), facts),
        workload: &workload,
        seed: request.seed,
        bs: Some(bs),
    };
    choice.run_trials(&cpus.candidates, facts, stop);
    Ok(())
}

/// Shortest read of a trial of CPUs.
const MIN_READ: Bytes = Bytes(4096);

/// Most CPUs to try.
pub(crate) const MAX_TRIED_CPUS: usize = 4;
/// Rounds in which each CPU is tried in turn. The best round counts, as other work only slows it.
const ROUNDS: u64 = 3;
/// Measured time of each method in a round, and the time before it that does not count.
const MEASURED: Nanos = Nanos::from_millis(50);
const WARM_UP: Nanos = Nanos::from_millis(10);
/// Another CPU replaces the first candidate if it has more than this multiple of its IOPS.
const CLEAR_RATIO: f64 = 1.05;

/// Runs one job of depth 1 on each candidate by interrupts and by polling. Chooses the first
/// candidate, unless another is clearly faster. Empty if the run is stopped or an I/O fails.
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
            if !run_round(workload, bs, seed, stop, trial)? {
                return Ok(Vec::new());
            }
        }
    }
    if let Some(best) = best_trial(&trials) {
        trials[best].chosen = true;
    }
    Ok(trials)
}

/// Runs one round; `trial` keeps the better figures. False if it was stopped or an I/O failed.
fn run_round(
    workload: &Workload,
    bs: Bytes,
    seed: u64,
    stop: &AtomicBool,
    trial: &mut CpuTrial,
) -> Result<bool, RunError> {
    let one_job = Workload {
        cpus: vec![trial.cpu],
        background: Vec::new(),
        sampler_cpu: None,
        ..workload.clone()
    };
    let mut stages = Stages::default();
    let interrupt = add_stages(&mut stages, LaneMethod::Interrupt);
    let polls = workload.engine.refuses(1, &Wait::Poll).is_none();
    let poll = polls.then(|| add_stages(&mut stages, LaneMethod::Poll));
    let watched = one_job.run(bs, &stages, seed, None, stop)?;
    if stop.load(Ordering::Relaxed) || watched.fault.is_some() {
        return Ok(false);
    }
    let best = |so_far: f64, stage| so_far.max(watched.stats(stage).iops());
    trial.interrupt_iops = best(trial.interrupt_iops, interrupt);
    trial.poll_iops = poll.map(|poll| best(trial.poll_iops.unwrap_or(0.0), poll));
    Ok(true)
}

fn add_stages(stages: &mut Stages, method: LaneMethod) -> StageId {
    stages.push(Step::By(method), WARM_UP);
    stages.push(Step::Same, MEASURED)
}

/// Index of the best trial by the geometric mean over both methods. `None` without trials.
fn best_trial(trials: &[CpuTrial]) -> Option<usize> {
    let score = |trial: &CpuTrial| {
        let (interrupt, poll) = (trial.interrupt_iops, trial.poll_iops);
        poll.map_or(interrupt, |poll| (interrupt * poll).sqrt())
    };
    let scores: Vec<f64> = trials.iter().map(score).collect();
    let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]);
    let best = (0..scores.len()).max_by(by_score)?;
    let is_clear = scores[best] > scores[0] * CLEAR_RATIO;
    Some(if is_clear { best } else { 0 })
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
        assert_eq!(best_trial(&[]), None);
        // CPU 1 is a third faster by interrupts; by polling both are alike.
        let near = [trial(0, 12e3, 18e3), trial(1, 16e3, 17.5e3)];
        assert_eq!(best_trial(&near), Some(1));
        // Noise does not replace the first CPU.
        let alike = [trial(0, 12e3, 18e3), trial(1, 12.3e3, 18.2e3)];
        assert_eq!(best_trial(&alike), Some(0));
        // Polling loses what interrupts gain.
        let opposed = [trial(0, 12e3, 18e3), trial(1, 16e3, 13.5e3)];
        assert_eq!(best_trial(&opposed), Some(0));
        let unpolled = [trial(0, 9e3, None), trial(1, 10e3, None)];
        assert_eq!(best_trial(&unpolled), Some(1));
    }
}

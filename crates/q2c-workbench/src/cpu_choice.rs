//! The choice of the first job's CPU: what is tried, from which CPUs, and on which targets. The
//! trials themselves are in [`crate::cpu_trials`].

use crate::cpu_trials::cpu_trials;
use crate::polling::{IopollSupport, polling, too_large};
use crate::workbench::WorkloadRequest;
use crate::workload::{Site, Workload};
use crate::workload_cpus::WorkloadCpus;
use crate::workload_target::LEAST_BLOCKS;
use q2c_engine::engines::{RingKind, SimDevices, VectoredFlags};
use q2c_engine::{EngineSpec, Medium, Pattern};
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_model::{Bytes, CpuId, Fault};
use q2c_result::{Target, TargetKind};
use q2c_sys::Clock;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) struct CpuChoice<'a> {
    /// The ring on the path that the device gives it.
    pub(crate) path: EngineSpec,
    pub(crate) workload: &'a Workload,
    pub(crate) seed: u64,
    /// Block size; `None` where the workload has none.
    pub(crate) bs: Option<Bytes>,
}

impl CpuChoice<'_> {
    /// Tries the target from the candidates, if there is a device and a choice, and notes it.
    pub(crate) fn note(&self, candidates: &[CpuId], target: &mut Target, stop: &AtomicBool) {
        let (Some(bs), true) = (self.bs, target.device.is_some() && candidates.len() > 1) else {
            return;
        };
        let alone = Workload {
            engine: self.engine(bs),
            ..self.workload.clone()
        };
        match cpu_trials(&alone, bs, candidates, self.seed, stop) {
            Ok(trials) => target.cpu_trials = trials,
            Err(why) => {
                let unproved = format!("which CPU is the fastest: the trials failed to {why}");
                target.unproved.push(unproved);
            }
        }
    }

    /// The ring, or preadv2 where a ring cannot be had.
    fn engine(&self, bs: Bytes) -> EngineSpec {
        let commands = self.path.needs_character_device();
        let opens = self
            .path
            .open(&self.workload.medium, 1, bs.0 as usize, self.seed);
        match opens {
            Err(_) if !commands => EngineSpec::Pvsync2(VectoredFlags::default()),
            _ => self.path.clone(),
        }
    }
}

/// The ring of this kind on the path that the target's device gives it for blocks of `bs`.
pub(crate) fn path_of(
    kind: RingKind,
    polling: &IopollSupport,
    bs: Option<Bytes>,
    target: &Target,
) -> EngineSpec {
    let by_device = EngineSpec::ByDevice(kind);
    let polled = by_device.clone().settled(polling.is_ok());
    let unsplit = target.device.as_ref().and_then(|device| device.unsplit);
    match bs.and_then(|bs| too_large(&polled, bs, unsplit)) {
        Some(_) => by_device.settled(false),
        None => polled,
    }
}

/// Reads an open target from several CPUs for a moment each, and notes what each gave, unless it is
/// too small or takes NVMe commands alone.
pub fn try_cpus(
    roots: &Roots,
    file: File,
    facts: &mut Target,
    target_disk: Option<TargetDisk>,
    stop: &AtomicBool,
) -> Result<(), Fault> {
    let block = facts
        .device
        .as_ref()
        .and_then(|device| device.logical_block);
    let bs = block.map_or(LEAST_READ, |block| block.max(LEAST_READ));
    if facts.kind == TargetKind::NvmeGeneric || facts.size.0 < bs.0 * LEAST_BLOCKS {
        return Ok(());
    }
    let pattern = Pattern {
        random: true,
        write: false,
    };
    let request = WorkloadRequest::new(&facts.path, pattern, bs);
    let cpus = WorkloadCpus::choose(&request, roots, target_disk.as_ref(), None)?;
    let medium = Medium::File(Arc::new(file));
    let polling = polling(RingKind::File, &medium, facts);
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
        path: path_of(RingKind::File, &polling, Some(bs), facts),
        workload: &workload,
        seed: request.seed,
        bs: Some(bs),
    };
    choice.note(&cpus.candidates, facts, stop);
    Ok(())
}

const LEAST_READ: Bytes = Bytes(4096);

//! The CPUs of a workload.

use crate::cpu_trials::MOST_CPUS;
use crate::workload::{Background, BackgroundSpec};
use crate::workload_request::WorkloadRequest;
use q2c_engine::World;
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::topology::{AllowedCpus, ChosenCpus, Topology, UnnamedCpus, interrupted_cpus};
use q2c_model::{CpuId, Fault};

/// The CPUs of the world, or those that the kernel lets this process have.
pub(crate) fn allowed_cpus(world: Option<&World>) -> Result<AllowedCpus, Fault> {
    match world {
        Some(world) => Ok(AllowedCpus::from_sorted(world.cpus())),
        None => AllowedCpus::read(),
    }
}

pub(crate) struct WorkloadCpus {
    pub(crate) foreground: Vec<CpuId>,
    /// A CPU without a foreground job, best without any, for the sampler and background jobs that
    /// name none. `None` when every allowed CPU has a foreground job.
    pub(crate) spare: Option<CpuId>,
    /// CPUs worth a short trial, the first job's before the others; empty where CPUs were named.
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
                allowed.candidates(&topology, first, &interrupted, MOST_CPUS)
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
    /// The same jobs, each with CPUs: if it names none, an allowed one that is still free, else the
    /// first of `foreground`, which must not be empty.
    pub fn placed_beside(&self, foreground: &[CpuId]) -> Result<Self, Fault> {
        let named: Vec<CpuId> = self.0.iter().flat_map(|job| &job.cpus).copied().collect();
        let spare = AllowedCpus::read()?.spare(foreground, &named);
        Ok(self.placed_on(spare.unwrap_or(foreground[0])))
    }
}

//! The CPUs of a workload.

use crate::cpu_trials::MOST_CPUS;
use crate::workload::{Background, BackgroundSpec};
use crate::workload_request::WorkloadRequest;
use q2c_engine::World;
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::topology::{AllowedCpus, ChosenCpus, Topology, UnnamedCpus, interrupted_cpus};
use q2c_model::{CpuId, Fault};

/// The CPUs that lanes may run on: those of the world, or those of this machine that the kernel
/// lets this process have.
pub(crate) fn allowed_cpus(world: Option<&World>) -> Result<AllowedCpus, Fault> {
    match world {
        Some(world) => Ok(AllowedCpus::of(world.cpus())),
        None => AllowedCpus::read(),
    }
}

/// The CPUs of a workload.
pub(crate) struct WorkloadCpus {
    /// CPU of each foreground job.
    pub(crate) foreground: Vec<CpuId>,
    /// A CPU without a foreground job, for the sampler and for background jobs that name no CPU.
    /// A CPU without a background job is preferred. `None` when every allowed CPU has a foreground
    /// job.
    pub(crate) spare: Option<CpuId>,
    /// The CPUs that are worth a short trial, that of the first job before the others; empty where
    /// the user named the CPUs.
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
        Ok(WorkloadCpus::of(request, allowed, order, candidates))
    }

    fn of(
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

    /// The same choice, with `first` as the CPU of the first job.
    pub(crate) fn beginning_with(self, first: CpuId, request: &WorkloadRequest) -> Self {
        let order = self.order.beginning_with(first);
        WorkloadCpus::of(request, self.allowed, order, self.candidates)
    }

    /// The background jobs, each with CPUs.
    pub(crate) fn background(&self, request: &WorkloadRequest) -> Vec<BackgroundSpec> {
        let background = Background(request.background.clone());
        let cpu = self.spare.unwrap_or(self.foreground[0]);
        background.placed_on(cpu).0
    }
}

impl Background {
    /// The same jobs, each with CPUs, beside foreground threads on the CPUs `foreground`: jobs that
    /// name no CPU get an allowed one that no foreground thread and no other job has, else the
    /// first of the foreground's. `foreground` must not be empty.
    ///
    /// # Errors
    /// The CPUs that this process may use cannot be read.
    pub fn placed_beside(&self, foreground: &[CpuId]) -> Result<Self, Fault> {
        let named: Vec<CpuId> = self.0.iter().flat_map(|job| &job.cpus).copied().collect();
        let spare = AllowedCpus::read()?.spare(foreground, &named);
        Ok(self.placed_on(spare.unwrap_or(foreground[0])))
    }
}

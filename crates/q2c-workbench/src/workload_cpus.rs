//! The CPUs of a workload.

use crate::workload::{Background, BackgroundSpec};
use crate::workload_request::WorkloadRequest;
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::topology::{AllowedCpus, CpuChoiceError, UnnamedCpus, interrupted_cpus};
use q2c_model::CpuId;

/// The CPUs of a workload.
pub(crate) struct WorkloadCpus {
    /// CPU of each foreground job.
    pub(crate) foreground: Vec<CpuId>,
    /// A CPU without a foreground job, for the sampler and for background jobs that name no CPU.
    /// A CPU without a background job is preferred. `None` when every allowed CPU has a foreground
    /// job.
    pub(crate) spare: Option<CpuId>,
}

impl WorkloadCpus {
    pub(crate) fn choose(
        request: &WorkloadRequest,
        roots: &Roots,
        disk: Option<&TargetDisk>,
    ) -> Result<Self, CpuChoiceError> {
        let allowed = AllowedCpus::read()?;
        let named = Some(request.cpus.as_slice()).filter(|named| !named.is_empty());
        let interrupted = interrupted_cpus(roots, disk);
        let chosen = allowed.choose(named, UnnamedCpus::AwayFrom(&interrupted))?;
        let foreground = chosen.first(request.jobs as usize);
        let background = request.background.iter().flat_map(|job| &job.cpus);
        let background: Vec<CpuId> = background.copied().collect();
        Ok(WorkloadCpus {
            spare: allowed.spare(&foreground, &background),
            foreground,
        })
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
    pub fn placed_beside(&self, foreground: &[CpuId]) -> Result<Self, CpuChoiceError> {
        let named: Vec<CpuId> = self.0.iter().flat_map(|job| &job.cpus).copied().collect();
        let spare = AllowedCpus::read()?.spare(foreground, &named);
        Ok(self.placed_on(spare.unwrap_or(foreground[0])))
    }
}

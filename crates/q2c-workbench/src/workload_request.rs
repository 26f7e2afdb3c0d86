//! A workload as it is asked for.

use crate::workload::BackgroundSpec;
use q2c_engine::{EngineSpec, Pattern, SimMachine};
use q2c_model::{Bytes, CpuId};
use q2c_run::run_dir::PlanFault;
use std::path::PathBuf;

/// Checks the simulated machine of a plan that is read back.
pub fn check_machine(machine: Option<&SimMachine>) -> Result<(), PlanFault> {
    let checked = machine.map_or(Ok(()), SimMachine::check);
    checked.map_err(|error| PlanFault::new("machine", "values in their ranges", error))
}

/// The workload that a command asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadRequest {
    /// The path of a file or device, or the text of a simulated device.
    pub target: String,
    /// Engine of the foreground; `None` takes the target's, else io_uring.
    pub engine: Option<EngineSpec>,
    /// Access pattern of the foreground jobs.
    pub pattern: Pattern,
    /// All block sizes of the foreground jobs.
    pub sizes: Vec<Bytes>,
    /// Number of foreground jobs.
    pub jobs: u32,
    /// CPUs of the foreground jobs, in turn; empty when q2c chooses.
    pub cpus: Vec<CpuId>,
    /// Background jobs. A job without CPUs gets one that has no foreground job.
    pub background: Vec<BackgroundSpec>,
    /// Files and devices that may be written.
    pub allow_write: Vec<PathBuf>,
    /// Seed of the offsets.
    pub seed: u64,
    /// The machine of a simulated target, in simulated time; `None` for this one.
    pub machine: Option<SimMachine>,
}

impl WorkloadRequest {
    /// One job without a background on this machine, with the seed 1.
    pub fn new(target: &str, pattern: Pattern, bs: Bytes) -> Self {
        WorkloadRequest {
            target: target.to_owned(),
            engine: None,
            pattern,
            sizes: vec![bs],
            jobs: 1,
            cpus: Vec::new(),
            background: Vec::new(),
            allow_write: Vec::new(),
            seed: 1,
            machine: None,
        }
    }
}

//! A workload as it is asked for.

use crate::workload::BackgroundSpec;
use q2c_engine::{EngineSpec, Pattern, SimMachine};
use q2c_model::{Bytes, CpuId};
use q2c_run::run_dir::PlanFault;
use std::path::PathBuf;

/// Checks the simulated machine of a plan that is read back.
///
/// # Errors
/// A value is out of its range.
pub fn check_machine(machine: Option<&SimMachine>) -> Result<(), PlanFault> {
    let checked = machine.map_or(Ok(()), SimMachine::check);
    checked.map_err(|error| PlanFault::new("machine", "values in their ranges", error))
}

/// The workload that a command asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadRequest {
    /// The path of a file or device, or the text of a simulated device.
    pub target: String,
    /// Engine of the foreground jobs; `None` takes the one that the target's text names, else
    /// io_uring.
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
    /// The machine on which a simulated target is measured, in simulated time; `None` for this
    /// machine and its time.
    pub machine: Option<SimMachine>,
}

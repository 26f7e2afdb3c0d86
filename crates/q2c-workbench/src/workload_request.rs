//! A workload as it is asked for.

use crate::workload::BackgroundSpec;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, CpuId};
use std::path::PathBuf;

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
}

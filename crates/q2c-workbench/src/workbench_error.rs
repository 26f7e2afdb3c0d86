//! The errors of opening a workbench.

use q2c_engine::engine::EngineError;
use q2c_engine::engines::ParseEngineError;
use q2c_engine::{EngineSpec, RunError};
use q2c_host::target::TargetError;
use q2c_host::topology::CpuChoiceError;
use q2c_result::Exit;
use thiserror::Error;

/// Why a workbench could not be opened. Its text reads well after "failed to".
#[derive(Debug, Error)]
pub enum WorkbenchError {
    /// The target is unfit, or may not be written.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target's text begins like a simulated device, and is none.
    #[error(transparent)]
    Engine(#[from] ParseEngineError),
    /// The target takes NVMe commands only, and the engine sends none.
    #[error(
        "use {path} with {engine}: it takes NVMe commands alone; name the namespace's block device, or use \
         --engine io_uring_cmd"
    )]
    CommandsAlone {
        /// The target's path.
        path: String,
        /// The engine.
        engine: EngineSpec,
    },
    /// An engine was asked for that polls the device, and the device cannot be polled.
    #[error(
        "use {engine}: IOPOLL cannot be had: {why}; leave iopoll out to take the path that there is"
    )]
    NoPolling {
        /// The engine.
        engine: EngineSpec,
        /// Why the device cannot be polled.
        why: String,
    },
    /// A request is larger than what the device can be polled for. Holds the reason.
    #[error("use these block sizes: {0}")]
    TooLarge(String),
    /// The CPUs could not be chosen.
    #[error(transparent)]
    Cpus(#[from] CpuChoiceError),
    /// A simulated device could not be made.
    #[error(transparent)]
    Device(#[from] EngineError),
    /// The machine could not be watched at rest.
    #[error(transparent)]
    AtRest(#[from] RunError),
}

impl WorkbenchError {
    /// The exit code of a command that this error ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            WorkbenchError::Target(error) => error.exit(),
            WorkbenchError::Engine(_) => Exit::Usage,
            WorkbenchError::CommandsAlone { .. }
            | WorkbenchError::NoPolling { .. }
            | WorkbenchError::TooLarge(_) => Exit::Target,
            WorkbenchError::Cpus(error) => error.exit(),
            WorkbenchError::Device(EngineError::NotSimulated(_)) => Exit::Usage,
            WorkbenchError::Device(_) => Exit::Input,
            WorkbenchError::AtRest(_) => Exit::Environment,
        }
    }
}

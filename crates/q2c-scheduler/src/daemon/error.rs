//! Why tasks cannot be moved.

use q2c_capture::ProbeError;
use q2c_host::restore::RestoreError;
use q2c_result::Exit;

/// Why tasks cannot be moved, or cannot be moved any longer.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// No two CPUs share a core.
    #[error(
        "place tasks: expected cores with two logical CPUs or more, found {cpus} CPUs that tasks may use on {cores} cores; \
         without SMT (or with it switched off) polling and computing tasks share no pipeline, and the kernel's own balancing is enough; --without-smt places them all the same"
    )]
    NoSmt {
        /// CPUs that tasks may be placed on.
        cpus: usize,
        /// Cores.
        cores: usize,
    },
    /// No CPU is known that tasks may be placed on.
    #[error(
        "place tasks: expected CPUs that are online and not isolated in /sys/devices/system/cpu, found none"
    )]
    NoCpus,
    /// Which tasks poll cannot be read any longer.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The restore guard cannot be used.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl DaemonError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            DaemonError::NoSmt { .. } | DaemonError::NoCpus => Exit::Environment,
            DaemonError::Probe(error) => error.exit(),
            DaemonError::Restore(error) => error.exit(),
        }
    }
}

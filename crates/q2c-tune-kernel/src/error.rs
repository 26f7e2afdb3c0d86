//! The reasons for which a run has no result.

use q2c_capture::ProbeError;
use q2c_model::Nanos;
use q2c_result::Exit;
use q2c_steer::SteerError;
use q2c_study::StudyError;
use thiserror::Error;

/// The reasons for which a run has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TuneKernelError {
    /// The kernel's polling cannot be watched.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The kernel's polling cannot be steered.
    #[error(transparent)]
    Steer(#[from] SteerError),
    /// The recording cannot be simulated.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// Nobody polls the device.
    #[error(
        "tune the kernel's polling of {disk}: expected polled requests while {doing}, found {found} in {waited}; run a load \
         that polls this device (preadv2 with RWF_HIPRI, fio --ioengine=pvsync2 --hipri), or name one behind --"
    )]
    NoLoad {
        /// Name of the disk.
        disk: String,
        /// The phase.
        doing: &'static str,
        /// Number of polled requests.
        found: u64,
        /// Length of the time in which they were waited for.
        waited: Nanos,
    },
    /// None of the rules can be followed by the kernel.
    #[error(
        "tune the kernel's polling: expected rules that the kernel can follow (mean, min, quantile, fixed or a formula, with \
         windows of {least} or more), found none among the {found} named"
    )]
    NoRules {
        /// Number of rules that were named.
        found: usize,
        /// The shortest window.
        least: Nanos,
    },
    /// A signal or the caller stopped the run.
    #[error("tune the kernel's polling: stopped by a signal")]
    Stopped,
}

impl TuneKernelError {
    /// The exit code of a command that this error ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            TuneKernelError::Probe(error) => error.exit(),
            TuneKernelError::Steer(error) => error.exit(),
            TuneKernelError::Study(error) => error.exit(),
            TuneKernelError::NoLoad { .. } => Exit::Target,
            TuneKernelError::NoRules { .. } => Exit::Usage,
            TuneKernelError::Stopped => Exit::Interrupted,
        }
    }
}

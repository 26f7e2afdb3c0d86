//! Why the scheduler cannot be used.

use super::Ended;
use q2c_model::{Exit, Fault};

/// Why the scheduler cannot be used, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ScxError {
    /// The kernel has no sched_ext.
    #[error(
        "load the scheduler: this kernel has no sched_ext (expected /sys/kernel/sched_ext; CONFIG_SCHED_CLASS_EXT, Linux 6.16 or later); use --mode affinity"
    )]
    NoSchedExt,
    /// CPUs are isolated, with which the kernel refuses every scheduler.
    #[error(
        "load the scheduler: the kernel refuses sched_ext while CPUs are isolated (isolcpus={cpus}); use --mode affinity, or boot without isolcpus"
    )]
    Isolated {
        /// The isolated CPUs.
        cpus: String,
    },
    /// Another scheduler is loaded.
    #[error("load the scheduler: `{name}` is loaded; end it first")]
    Busy {
        /// Its name.
        name: String,
    },
    /// The kernel's type information has wrong prototypes of functions that the scheduler calls.
    #[error(
        "load the scheduler: the kernel's type information (BTF) has malformed prototypes of {functions}; that is a fault of the kernel's build: use another kernel, or --mode affinity"
    )]
    Malformed {
        /// Names of the functions.
        functions: String,
    },
    /// The kernel's compiler for BPF is switched off.
    #[error(
        "load the scheduler: the kernel's BPF compiler is off (net.core.bpf_jit_enable=0); set it to 1"
    )]
    NoJit,
    /// Functions of sched_ext that the scheduler needs are missing.
    #[error(
        "load the scheduler: this kernel lacks {functions}; expected Linux 6.16 or later; use --mode affinity"
    )]
    Lacks {
        /// Names of the functions.
        functions: String,
    },
    /// The kernel refuses for another reason.
    #[error("load the scheduler: {why}")]
    Refused {
        /// The words of kernel and library.
        why: String,
    },
    /// The kernel ended the scheduler.
    #[error("keep the scheduler in force: the kernel ended it ({0}) and uses its own again")]
    Ended(Ended),
    /// This program was built without the scheduler.
    #[error(
        "load the scheduler: this q2c was built without it; build with --features scx (crates/q2c-place/Cargo.toml says what that needs), or use --mode affinity"
    )]
    NotBuilt,
}

impl From<ScxError> for Fault {
    fn from(error: ScxError) -> Fault {
        Fault::from_error(Exit::Environment, error)
    }
}

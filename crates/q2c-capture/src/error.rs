//! Errors of attaching and reading probes.

use q2c_model::{Exit, Fault};
use std::path::PathBuf;

/// Why a probe could not be attached or read. The message says what was tried and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The process may not load BPF programs.
    #[error(
        "load a BPF program: this process lacks {lacking}; {todo} \
         (unprivileged BPF cannot do it, whatever kernel.unprivileged_bpf_disabled says)"
    )]
    Capability {
        /// Names of the missing capabilities.
        lacking: String,
        /// What to do, for this user.
        todo: &'static str,
    },
    /// The kernel has no type information (BTF).
    #[error("read the kernel's types at {}: there are none; it needs CONFIG_DEBUG_INFO_BTF=y", path.display())]
    NoTypes {
        /// The file in which a kernel with type information has it.
        path: PathBuf,
    },
    /// The kernel cannot put probes on its functions.
    #[error("put probes on kernel functions: {} does not exist; the kernel needs CONFIG_KPROBE_EVENTS=y", path.display())]
    NoKprobes {
        /// The file that a kernel with kprobes has.
        path: PathBuf,
    },
    /// A kernel function was not found.
    #[error("find the kernel function {wanted} in {}: {found}", path.display())]
    Symbol {
        /// Its name, or its possible names.
        wanted: String,
        /// The list of functions that was searched.
        path: PathBuf,
        /// What was found instead, and what to do.
        found: String,
    },
    /// The kernel or the device has no hybrid polling of its own that could be watched or steered.
    #[error("use the kernel's own hybrid polling of {disk}: {reason}")]
    NoHybrid {
        /// Name of the disk.
        disk: String,
        /// Why there is none, and on which kernels there is.
        reason: String,
    },
    /// The disks that were named cannot be recorded: there are none or more than 8, or one has no
    /// device number.
    #[error(
        "record the I/Os of {names}: expected 1 to 8 disks with device numbers; name one of the disks below (/dev/...)"
    )]
    Disks {
        /// Names of the disks.
        names: String,
    },
    /// tracefs is not mounted, or refused an access.
    #[error("use the kernel's tracing files: {what}: {source}")]
    Tracefs {
        /// The access that was tried.
        what: String,
        /// The error found.
        source: std::io::Error,
    },
    /// The kernel hides many events from BPF.
    #[error(
        "record all by BPF: the kernel did not show it the begin or the end of {hidden} of {ios} I/Os"
    )]
    Hidden {
        /// I/Os of which BPF saw one end alone.
        hidden: u64,
        /// All I/Os that it saw.
        ios: u64,
    },
    /// Recording is possible neither by BPF nor by tracefs.
    #[error("record by BPF: {bpf}; and by tracefs: {tracefs}")]
    Neither {
        /// Why not by BPF.
        bpf: Box<ProbeError>,
        /// Why not by tracefs.
        tracefs: Box<ProbeError>,
    },
    /// A file of procfs or sysfs could not be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file that could not be read.
        path: PathBuf,
        /// The error found.
        source: std::io::Error,
    },
    /// The machine gave no thread to read the probe beside the workload.
    #[error(
        "start a thread that reads the probe: {source}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)"
    )]
    Thread {
        /// The error found.
        source: std::io::Error,
    },
    /// The kernel refused a program or a map.
    #[error("{what}: {why}")]
    Refused {
        /// What was tried.
        what: String,
        /// The kernel's words, and what may be the reason.
        why: String,
    },
}

impl From<ProbeError> for Fault {
    fn from(error: ProbeError) -> Fault {
        let exit = match error {
            ProbeError::NoHybrid { .. } | ProbeError::Disks { .. } => Exit::Target,
            _ => Exit::Environment,
        };
        Fault::from_error(exit, error)
    }
}

//! Why a probe cannot be had.

use q2c_result::Exit;
use std::path::PathBuf;

/// Errors of the probes.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The process may not load BPF programs.
    #[error(
        "load a BPF program: this process lacks {lacking}; run as root, or give the program these capabilities \
         (unprivileged BPF cannot do it, whatever kernel.unprivileged_bpf_disabled says)"
    )]
    Capability {
        /// The capabilities, named.
        lacking: String,
    },
    /// The kernel tells no types.
    #[error("read the kernel's types at {}: there are none; it needs CONFIG_DEBUG_INFO_BTF=y", path.display())]
    NoTypes {
        /// Where they would be.
        path: PathBuf,
    },
    /// The kernel cannot put probes on its functions.
    #[error("put probes on kernel functions: {} does not exist; the kernel needs CONFIG_KPROBE_EVENTS=y", path.display())]
    NoKprobes {
        /// What such a kernel has.
        path: PathBuf,
    },
    /// A function of the kernel was not found.
    #[error("find the kernel function {wanted} in {}: {found}", path.display())]
    Symbol {
        /// Its name, or names.
        wanted: String,
        /// The list of functions.
        path: PathBuf,
        /// What was found instead, and what to do.
        found: String,
    },
    /// The kernel or the device has no hybrid polling of its own that could be watched or steered.
    #[error("use the kernel's own hybrid polling of {disk}: {reason}")]
    NoHybrid {
        /// The disk.
        disk: String,
        /// Why.
        reason: String,
    },
    /// Not the disks that can be recorded.
    #[error(
        "record the I/Os of {names}: expected 1 to 8 disks with device numbers; name one of the disks below (/dev/...)"
    )]
    Disks {
        /// Their names.
        names: String,
    },
    /// tracefs is not there, or refuses.
    #[error("use the kernel's tracing files: {what}: {source}")]
    Tracefs {
        /// What was tried.
        what: String,
        /// The error found.
        source: std::io::Error,
    },
    /// Neither way of recording is there.
    #[error("record by BPF: {bpf}; and by tracefs: {tracefs}")]
    Neither {
        /// Why not by BPF.
        bpf: Box<ProbeError>,
        /// Why not by tracefs.
        tracefs: Box<ProbeError>,
    },
    /// A file could not be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
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

impl ProbeError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            ProbeError::NoHybrid { .. } | ProbeError::Disks { .. } => Exit::Target,
            _ => Exit::Environment,
        }
    }
}

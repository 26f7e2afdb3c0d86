use q2c_model::{Exit, Fault};
use std::path::PathBuf;

/// Why a probe could not be attached or read. The message says what was tried and what to do next.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ProbeError {
    #[error(
        "load a BPF program: this process lacks {lacking}; {todo} \
         (unprivileged BPF cannot do it, whatever kernel.unprivileged_bpf_disabled says)"
    )]
    Capability { lacking: String, todo: &'static str },
    #[error("read the kernel's types at {}: there are none; it needs CONFIG_DEBUG_INFO_BTF=y", path.display())]
    NoTypes { path: PathBuf },
    #[error("put probes on kernel functions: {} does not exist; the kernel needs CONFIG_KPROBE_EVENTS=y", path.display())]
    NoKprobes { path: PathBuf },
    /// `wanted` has a function's name or its possible names, `path` the list that was searched.
    #[error("find the kernel function {wanted} in {}: {found}", path.display())]
    Symbol {
        wanted: String,
        path: PathBuf,
        found: String,
    },
    /// The kernel or the device has no hybrid polling of its own that could be watched or steered.
    #[error("use the kernel's own hybrid polling of {disk}: {reason}")]
    NoHybrid { disk: String, reason: String },
    #[error(
        "record the I/Os of {names}: expected 1 to 8 disks with device numbers; name one of the disks below (/dev/...)"
    )]
    Disks { names: String },
    /// tracefs is not mounted, or refused an access.
    #[error("use the kernel's tracing files: {what}: {source}")]
    Tracefs {
        what: String,
        source: std::io::Error,
    },
    #[error(
        "record all by BPF: the kernel did not show it the begin or the end of {hidden} of {ios} I/Os"
    )]
    Hidden { hidden: u64, ios: u64 },
    /// The refusals of BPF and of tracefs.
    #[error("record by BPF: {}; and by tracefs: {}", .0[0], .0[1])]
    Neither(Box<[ProbeError; 2]>),
    #[error("read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "start a thread that reads the probe: {source}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)"
    )]
    Thread { source: std::io::Error },
    /// The kernel refused a program or a map.
    #[error("{what}: {why}")]
    Refused { what: String, why: String },
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

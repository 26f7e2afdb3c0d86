use crate::block::NoCharacterDevice;
use q2c_model::{Bytes, Exit, Fault};
use q2c_sys::nvme::NvmeError;
use std::io;
use std::path::PathBuf;

/// Why a target was refused. Each message says what was tried, on what, what was found and what to
/// do.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TargetError {
    #[error("{what} {}: {source}{}", path.display(), advice(source))]
    Call {
        /// The attempt: `open for reading`, `ask about`, ...
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("use {} as a target: it is a {}; name a regular file or a block device, or an NVMe namespace's character device", .0.display(), .1)]
    Kind(PathBuf, &'static str),
    #[error(
        "use {} for NVMe commands: they address a whole namespace, and would destroy or read around a file system; name a namespace's \
         block device (/dev/nvme0n1) or its character device (/dev/ng0n1)",
        .0.display()
    )]
    NoNamespace(PathBuf),
    #[error(transparent)]
    NoCharacterDevice(#[from] NoCharacterDevice),
    #[error("use {} for NVMe commands; failed to {}", .0.display(), .1)]
    Nvme(PathBuf, #[source] NvmeError),
    #[error("use {} for NVMe commands: {}; they should be one namespace, so nothing was read or written", .0.display(), .1)]
    OtherNamespace(PathBuf, String),
    #[error(
        "write to {}: sysfs shows no block device of the same namespace, so whether something else uses it cannot be told; \
         name another target",
        .0.display()
    )]
    NoSibling(PathBuf),
    #[error("open {}: it was replaced while it was being checked; start again", .0.display())]
    Replaced(PathBuf),
    #[error(
        "use {} as a target: it has {found}, and {blocks} blocks of {block} need {needed}; name a larger one, or smaller blocks with --bs",
        path.display()
    )]
    TooSmall {
        path: PathBuf,
        found: Bytes,
        blocks: u64,
        block: Bytes,
        needed: Bytes,
    },
    #[error("read {} past the page cache (O_DIRECT): {}; use a block device, or a file on ext4 or xfs", .0.display(), .1)]
    NoDirect(PathBuf, String),
    /// The device failed the first read, by an errno that the block layer uses for failures of
    /// devices.
    #[error(
        "read the first {} of {}: {}: the device failed this read; the kernel log (dmesg) may tell why; mend or \
         replace it, or name another target",
        .1, .0.display(), .2
    )]
    Failed(PathBuf, Bytes, #[source] io::Error),
    #[error(
        "read blocks of {block} from {} past the page cache: blocks must be multiples of {needed}; name such a size with --bs",
        path.display()
    )]
    Misaligned {
        path: PathBuf,
        block: Bytes,
        needed: Bytes,
    },
    #[error(
        "use {} as a target: {} at byte {}, so reads there would not reach the device; write the file fully first, \
         or name another",
        .0.display(), .1, .2
    )]
    /// The path, what is there (`a hole of 4 KiB`, `an unwritten extent of 1 MiB`, ...), and its
    /// first byte.
    NotWritten(PathBuf, String, u64),
    #[error(
        "write to {}: q2c did not make it in this run, and writing destroys what it holds; \
         to allow that, add --allow-write {}",
        .0.display(), .0.display()
    )]
    NoPermission(PathBuf),
    #[error(
        "write to {}: the kernel has {} as read-only; look why (a write-protected medium, a failed disk), undo it \
         with blockdev --setrw, or name another target",
        .0.display(), .1
    )]
    /// The path, and the name of the read-only device: the target, or the disk it is a part of.
    ReadOnly(PathBuf, String),
    #[error("write to {}: {}; writing would destroy it, and no option allows that: free it first", .0.display(), .1)]
    Occupied(PathBuf, String),
    #[error("write to {}: whether something else uses it cannot be told, as {} cannot be read: {}; run q2c as root", .0.display(), .1, .2)]
    UnknownUse(PathBuf, String, #[source] io::Error),
    #[error(
        "make the scratch file {} of {size}: the file system has {free} free, and {reserve} are to stay free; \
         ask for a smaller file",
        path.display(), free = free.in_short(), reserve = reserve.in_short()
    )]
    NoSpace {
        path: PathBuf,
        size: Bytes,
        /// Free space for unprivileged users.
        free: Bytes,
        reserve: Bytes,
    },
    #[error("write the scratch file {}: stopped after {} by the caller", .0.display(), .1)]
    Stopped(PathBuf, Bytes),
}

/// Advice about a system's error, as the end of the message; empty where nothing can be advised.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "; name an existing file or block device"
        }
        io::ErrorKind::PermissionDenied => {
            "; change its permissions, or run q2c as a user who has them"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; name a place that can be written",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space or name another place"
        }
        _ if source.raw_os_error() == Some(5) => "; the kernel log (dmesg) may tell why", // EIO
        _ => "",
    }
}

impl TargetError {
    /// True if a file that q2c makes, or a simulated device, would serve in place of the named
    /// target.
    pub fn lacks_a_file(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        match self {
            TargetError::Call { source, .. } => matches!(source.kind(), NotFound | NotADirectory),
            TargetError::NotWritten { .. } => true,
            _ => false,
        }
    }
}

impl From<TargetError> for Fault {
    fn from(error: TargetError) -> Fault {
        let exit = match &error {
            TargetError::Stopped { .. } => Exit::Interrupted,
            TargetError::Failed { .. } => Exit::Device,
            // EIO, and a disk that ran full while the scratch file was written.
            TargetError::Call { source, .. } if matches!(source.raw_os_error(), Some(5 | 28)) => {
                Exit::Device
            }
            _ => Exit::Target,
        };
        Fault::from_error(exit, error)
    }
}

//! The errors of checking and opening a target.

use crate::block::NoCharacterDevice;
use q2c_model::{Bytes, Exit, Fault};
use q2c_sys::nvme::NvmeError;
use std::io;
use std::path::PathBuf;

/// Why a target was refused. Each message says what was tried, on what, what was found and what to
/// do.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A system call on the target failed.
    #[error("{what} {}: {source}{}", path.display(), todo(source))]
    Call {
        /// What was tried: `open for reading`, `ask about`, ...
        what: &'static str,
        /// The target's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is neither a regular file nor a block device nor an NVMe namespace's character
    /// device.
    #[error("use {} as a target: it is a {kind}; name a regular file or a block device, or an NVMe namespace's character device", path.display())]
    Kind {
        /// The target's path.
        path: PathBuf,
        /// The kind of file that it is.
        kind: &'static str,
    },
    /// NVMe commands were asked for on a target that is no block device.
    #[error(
        "use {} for NVMe commands: they address a whole namespace, and would destroy or read around a file system; name a namespace's \
         block device (/dev/nvme0n1) or its character device (/dev/ng0n1)",
        path.display()
    )]
    NoNamespace {
        /// The target's path.
        path: PathBuf,
    },
    /// NVMe commands were asked for on a disk that has no character device for them.
    #[error(transparent)]
    NoCharacterDevice(#[from] NoCharacterDevice),
    /// The character device is no namespace that can be used.
    #[error("use {} for NVMe commands; failed to {source}", path.display())]
    Nvme {
        /// The character device's path.
        path: PathBuf,
        /// Why the namespace cannot be used.
        source: NvmeError,
    },
    /// The character device and the block device are not the same namespace.
    #[error("use {} for NVMe commands: {found}; they should be one namespace, so nothing was read or written", path.display())]
    OtherNamespace {
        /// The character device's path.
        path: PathBuf,
        /// How they differ, in words.
        found: String,
    },
    /// sysfs shows no block device of the namespace, so nothing tells who else uses it.
    #[error(
        "write to {}: sysfs shows no block device of the same namespace, so whether something else uses it cannot be told; \
         name another target",
        path.display()
    )]
    NoSibling {
        /// The character device's path.
        path: PathBuf,
    },
    /// Another file was put under the name while the target was checked.
    #[error("open {}: it was replaced while it was being checked; start again", path.display())]
    Replaced {
        /// The target's path.
        path: PathBuf,
    },
    /// The target is too small.
    #[error(
        "use {} as a target: it has {found}, and {blocks} blocks of {block} need {needed}; name a larger one, or smaller blocks with --bs",
        path.display()
    )]
    TooSmall {
        /// The target's path.
        path: PathBuf,
        /// The target's size.
        found: Bytes,
        /// Blocks asked for.
        blocks: u64,
        /// Bytes per block.
        block: Bytes,
        /// Bytes that these blocks need.
        needed: Bytes,
    },
    /// Direct I/O does not work on the target.
    #[error("read {} past the page cache (O_DIRECT): {found}; use a block device, or a file on ext4 or xfs", path.display())]
    NoDirect {
        /// The target's path.
        path: PathBuf,
        /// What was found, in words.
        found: String,
    },
    /// The device failed the first read, by an errno that the block layer uses for failures of
    /// devices.
    #[error(
        "read the first {length} of {}: {source}: the device failed this read; the kernel log (dmesg) may tell why; mend or \
         replace it, or name another target",
        path.display()
    )]
    Failed {
        /// The target's path.
        path: PathBuf,
        /// Bytes to be read.
        length: Bytes,
        /// The error that the read returned.
        source: io::Error,
    },
    /// A block size is no multiple of the alignment.
    #[error(
        "read blocks of {block} from {} past the page cache: blocks must be multiples of {needed}; name such a size with --bs",
        path.display()
    )]
    Misaligned {
        /// The target's path.
        path: PathBuf,
        /// Bytes per block.
        block: Bytes,
        /// Alignment of offset and length.
        needed: Bytes,
    },
    /// Parts of the file were never written.
    #[error(
        "use {} as a target: {what} at byte {at}, so reads there would not reach the device; write the file fully first, \
         or name another",
        path.display()
    )]
    NotWritten {
        /// The target's path.
        path: PathBuf,
        /// `a hole of 4 KiB`, `an unwritten extent of 1 MiB`, ...
        what: String,
        /// Byte offset in the file.
        at: u64,
    },
    /// There is no leave to write the target.
    #[error(
        "write to {}: q2c did not make it in this run, and writing destroys what it holds; \
         to allow that, add --allow-write {}",
        path.display(), path.display()
    )]
    NoLeave {
        /// The target's path.
        path: PathBuf,
    },
    /// The kernel takes no writes for the device.
    #[error(
        "write to {}: the kernel has {device} as read-only; look why (a write-protected medium, a failed disk), undo it \
         with blockdev --setrw, or name another target",
        path.display()
    )]
    ReadOnly {
        /// The target's path.
        path: PathBuf,
        /// Name of the device that is read-only: the target, or the disk that it is a part of.
        device: String,
    },
    /// Something else uses the target.
    #[error("write to {}: {found}; writing would destroy it, and no option allows that: free it first", path.display())]
    Occupied {
        /// The target's path.
        path: PathBuf,
        /// The user, in words.
        found: String,
    },
    /// It could not be found out whether something else uses the target.
    #[error("write to {}: whether something else uses it cannot be told, as {what} cannot be read: {source}; run q2c as root", path.display())]
    UnknownUse {
        /// The target's path.
        path: PathBuf,
        /// The file or folder that was to be read.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file system has no room for the scratch file.
    #[error(
        "make the scratch file {} of {size}: the file system has {free} free, and {reserve} are to stay free; \
         ask for a smaller file",
        path.display(), free = free.in_short(), reserve = reserve.in_short()
    )]
    NoSpace {
        /// The scratch file's path.
        path: PathBuf,
        /// Size asked for.
        size: Bytes,
        /// Free space for unprivileged users.
        free: Bytes,
        /// Space that must stay free.
        reserve: Bytes,
    },
    /// The caller stopped the writing of the scratch file.
    #[error("write the scratch file {}: stopped after {done} by the caller", path.display())]
    Stopped {
        /// The scratch file's path.
        path: PathBuf,
        /// Bytes written before the stop.
        done: Bytes,
    },
}

/// What to do about a system's error, as the end of the message; empty where nothing can be
/// advised.
fn todo(source: &io::Error) -> &'static str {
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
        _ if source.raw_os_error() == Some(5) => "; the kernel log (dmesg) may tell why",
        _ => "",
    }
}

impl TargetError {
    /// Whether a file that q2c makes, or a simulated device, would serve in place of what was
    /// named.
    #[must_use]
    pub fn lacks_a_file(&self) -> bool {
        match self {
            TargetError::Call { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                )
            }
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

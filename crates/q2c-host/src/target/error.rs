//! Why a target was refused.

use crate::block::NoGeneric;
use q2c_model::Bytes;
use q2c_result::Exit;
use q2c_sys::nvme::NvmeError;
use std::io;
use std::path::PathBuf;

/// Each says what was tried, on what, what was found and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A call failed.
    #[error("{what} {}: {source}{}", path.display(), todo(source))]
    Call {
        /// `open`, `read`, ...
        what: &'static str,
        /// The target.
        path: PathBuf,
        /// The error found.
        source: io::Error,
    },
    /// Not a file or block device.
    #[error("use {} as a target: it is a {kind}; name a regular file or a block device, or an NVMe namespace's character device", path.display())]
    Kind {
        /// The target.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Passthrough on something that is no block device.
    #[error(
        "use {} for NVMe commands: they address a whole namespace, and would destroy or read around a file system; name a namespace's \
         block device (/dev/nvme0n1) or its character device (/dev/ng0n1)",
        path.display()
    )]
    NoNamespace {
        /// The target.
        path: PathBuf,
    },
    /// A disk without a character device for commands.
    #[error(transparent)]
    NoGeneric(#[from] NoGeneric),
    /// The character device is no namespace that can be used.
    #[error("use {} for NVMe commands; failed to {source}", path.display())]
    Nvme {
        /// The character device.
        path: PathBuf,
        /// Cause.
        source: NvmeError,
    },
    /// Character device and block device do not belong together.
    #[error("use {} for NVMe commands: {found}; they should be one namespace, so nothing was read or written", path.display())]
    OtherNamespace {
        /// The character device.
        path: PathBuf,
        /// In what they differ.
        found: String,
    },
    /// Nothing tells who uses the namespace.
    #[error(
        "write to {}: sysfs shows no block device of the same namespace, so whether something else uses it cannot be told",
        path.display()
    )]
    NoSibling {
        /// The character device.
        path: PathBuf,
    },
    /// Another file came under the name while it was checked.
    #[error("open {}: it was replaced while it was being checked; start again", path.display())]
    Replaced {
        /// The target.
        path: PathBuf,
    },
    /// Too small.
    #[error(
        "use {} as a target: it has {found}, and {blocks} blocks of {block} need {needed}; use a larger one or ask for fewer",
        path.display()
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size.
        found: Bytes,
        /// Blocks asked for.
        blocks: u64,
        /// Length of a block.
        block: Bytes,
        /// Size needed.
        needed: Bytes,
    },
    /// No direct I/O.
    #[error("read {} past the page cache (O_DIRECT): {found}; use a block device, or a file on ext4 or xfs", path.display())]
    NoDirect {
        /// The target.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// The device failed the first read.
    #[error(
        "read the first {length} of {}: {source}: the device failed this read; the kernel log (dmesg) may tell why; mend or \
         replace it, or name another target",
        path.display()
    )]
    Failed {
        /// The target.
        path: PathBuf,
        /// Length of the read.
        length: Bytes,
        /// The error found.
        source: io::Error,
    },
    /// The block size does not fit.
    #[error(
        "read blocks of {block} from {} past the page cache: blocks must be multiples of {needed}",
        path.display()
    )]
    Misaligned {
        /// The target.
        path: PathBuf,
        /// Length of a block.
        block: Bytes,
        /// Alignment of offset and length.
        needed: Bytes,
    },
    /// Parts of the file were never written.
    #[error(
        "use {} as a target: {what} at byte {at}, so reads there would not reach the device; write the file fully first, \
         or let q2c make one",
        path.display()
    )]
    NotWritten {
        /// The target.
        path: PathBuf,
        /// `a hole of 4 KiB`, `an unwritten extent of 1 MiB`, ...
        what: String,
        /// Where in the file.
        at: u64,
    },
    /// Writing was not allowed.
    #[error(
        "write to {}: q2c did not make it in this run, and writing destroys what it holds; \
         to allow that, add --allow-write {}",
        path.display(), path.display()
    )]
    NoLeave {
        /// The target.
        path: PathBuf,
    },
    /// In use by something else.
    #[error("write to {}: {found}; writing would destroy it, and no option allows that: free it first", path.display())]
    Occupied {
        /// The target.
        path: PathBuf,
        /// Who uses it.
        found: String,
    },
    /// Whether it is in use could not be found out.
    #[error("write to {}: whether something else uses it cannot be told, as {what} cannot be read: {source}", path.display())]
    UnknownUse {
        /// The target.
        path: PathBuf,
        /// What was to be read.
        what: String,
        /// The error found.
        source: io::Error,
    },
    /// No room for a scratch file.
    #[error(
        "make the scratch file {} of {size}: the file system has {free} free, and {reserve} are to stay free; \
         ask for a smaller file or name another place",
        path.display()
    )]
    NoSpace {
        /// The scratch file.
        path: PathBuf,
        /// Size asked for.
        size: Bytes,
        /// Free for unprivileged users.
        free: Bytes,
        /// To stay free.
        reserve: Bytes,
    },
    /// The caller stopped the writing of the scratch file.
    #[error("write the scratch file {}: stopped after {done} by the caller", path.display())]
    Stopped {
        /// The scratch file.
        path: PathBuf,
        /// Written by then.
        done: Bytes,
    },
}

/// What to do about an error of the system, where that can be told.
fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "; name an existing file or block device, or let q2c make one with --scratch"
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
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            TargetError::Stopped { .. } => Exit::Interrupted,
            TargetError::Failed { .. } => Exit::Device,
            // EIO, and a disk that ran full while the scratch file was written.
            TargetError::Call { source, .. } if matches!(source.raw_os_error(), Some(5 | 28)) => {
                Exit::Device
            }
            _ => Exit::Target,
        }
    }
}

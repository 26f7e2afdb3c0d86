//! Why a RAM device cannot be made, found or deleted.

use q2c_host::restore::RestoreError;
use q2c_host::target::TargetError;
use q2c_model::Bytes;
use q2c_result::Exit;
use std::io;
use std::path::PathBuf;

/// Errors of RAM devices.
#[derive(Debug, thiserror::Error)]
pub enum RamdiskError {
    /// The device is not one that can be made on any machine.
    #[error("make a RAM device: {0}")]
    Wrong(String),
    /// This machine or kernel has not what is needed.
    #[error("make a RAM device: {0}")]
    Lacking(String),
    /// The device needs more memory than is available.
    #[error(
        "make a RAM device of {wanted}: expected at most the memory that is available, found {available}; name a smaller --size"
    )]
    Memory {
        /// The capacity asked for.
        wanted: Bytes,
        /// The memory that the kernel calls available.
        available: Bytes,
    },
    /// The kernel or the system refused something.
    #[error("{what}: {source}")]
    Call {
        /// What was tried, on what.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// No RAM device has the name.
    #[error("find the RAM device {0}: q2c ramdisk list names those that there are")]
    Unknown(String),
    /// The device is in use.
    #[error("delete {name}: {why}")]
    InUse {
        /// The device.
        name: String,
        /// Who uses it.
        why: String,
    },
    /// The data of a device are lost.
    #[error(
        "recover {name}: {why}; the data are lost, and `q2c ramdisk delete {name}` removes the device"
    )]
    Lost {
        /// The device.
        name: String,
        /// Why the data are not there any more.
        why: String,
    },
    /// The device has a server.
    #[error("recover {name}: process {server} serves it")]
    Served {
        /// The device.
        name: String,
        /// The server.
        server: u32,
    },
    /// A file that describes a device cannot be read or written.
    #[error("{what} {}: {source}", path.display())]
    Record {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The restore guard refuses.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The device cannot be looked at.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl RamdiskError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            RamdiskError::Wrong(_) => Exit::Usage,
            RamdiskError::Unknown(_)
            | RamdiskError::InUse { .. }
            | RamdiskError::Served { .. }
            | RamdiskError::Lost { .. } => Exit::Target,
            RamdiskError::Target(error) => error.exit(),
            RamdiskError::Lacking(_)
            | RamdiskError::Memory { .. }
            | RamdiskError::Call { .. }
            | RamdiskError::Record { .. }
            | RamdiskError::Restore(_) => Exit::Environment,
        }
    }

    pub(crate) fn call(what: impl Into<String>) -> impl FnOnce(io::Error) -> RamdiskError {
        let what = what.into();
        move |source| RamdiskError::Call { what, source }
    }
}

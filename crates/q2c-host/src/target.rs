//! The target: the file or device that q2c reads from or writes to, checked before the first I/O.
//!
//! A target is fit when it exists, is a regular file or a block device, can be read, is large
//! enough, takes direct I/O, and lies fully written on its device. The file system answers reads of
//! a hole or an unwritten extent with zeros, so nothing would be measured there. A target is
//! written only with permission: see [`WritePermission`]. The character device of an NVMe namespace
//! is a target too, but only for NVMe commands: see [`OpenNamespace`].

mod direct;
mod error;
mod namespace;
mod occupied;
mod open;
mod permission;
mod scratch;
mod written;

pub use direct::Alignment;
pub use error::TargetError;
pub use namespace::{OpenNamespace, open_namespace};
pub use occupied::refuse_occupied;
pub use open::{OpenTarget, TargetRequirements, check_size, open};
pub use permission::{FileId, WritePermission};
use q2c_model::Bytes;
use q2c_result::{Target, TargetKind};
pub use scratch::Scratch;
pub(crate) use written::FILL_UNKNOWN;
pub use written::never_written;

type Result<T, E = TargetError> = std::result::Result<T, E>;

/// Size of a simulated target.
pub const SIMULATED_SIZE: Bytes = Bytes(1 << 30);

/// The facts of the simulated device that is named `target`, such as `sim:50us`.
pub fn simulated(target: &str) -> Target {
    Target {
        path: target.to_owned(),
        kind: TargetKind::Simulated,
        size: SIMULATED_SIZE,
        unproved: vec!["interrupts and requests are not counted".to_owned()],
        ..Target::default()
    }
}

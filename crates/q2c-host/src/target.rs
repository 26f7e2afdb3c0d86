//! The target: the file or device that q2c reads from or writes to, checked before the first I/O.
//!
//! A target is fit when it exists, is a regular file or a block device, can be read, is large
//! enough, takes direct I/O, and lies fully written on its device. The file system answers reads of
//! a hole or an unwritten extent with zeros, so nothing would be measured there. A target is
//! written only with leave: see [`WriteLeave`]. The character device of an NVMe namespace is a
//! target too, but only for NVMe commands: see [`OpenNamespace`].

mod direct;
mod error;
mod leave;
mod loops;
mod namespace;
mod occupied;
mod open;
mod scratch;
mod simulated;
mod written;
pub(crate) use written::UNASKED;
pub use written::never_written;

pub use direct::Alignment;
pub use error::TargetError;
pub use leave::{FileId, WriteLeave};
pub use namespace::{OpenNamespace, open_namespace};
pub use occupied::refuse_occupied;
pub use open::{OpenTarget, Wanted, check_size, open};
pub use scratch::Scratch;
pub use simulated::{SIMULATED_SIZE, simulated};

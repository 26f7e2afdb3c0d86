//! The target: what q2c reads from or writes to, checked before the first I/O.
//!
//! A target is fit when it exists, is a regular file or a block device, can be read, is large enough, takes direct
//! I/O, and lies fully written on its device: a hole or an unwritten extent is answered with zeros by the file
//! system, and nothing would be measured. It is written only with leave: see [`WriteLeave`].
//!
//! An NVMe namespace's character device is a target too, for commands alone: see [`OpenNamespace`].

mod direct;
mod error;
mod leave;
mod namespace;
mod occupied;
mod open;
mod scratch;
mod written;
pub(crate) use written::UNASKED;

pub use direct::Alignment;
pub use error::TargetError;
pub use leave::{FileId, WriteLeave};
pub use namespace::{OpenNamespace, open_namespace};
pub use occupied::refuse_occupied;
pub use open::{OpenTarget, Wanted, open};
pub use scratch::Scratch;

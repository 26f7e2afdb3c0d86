//! RAM block devices for `q2c ramdisk`: made by the kernel module `ramdisk_mq`, or served by ublk.
//!
//! [`serve()`] is the server of a ublk device: a thread per hardware queue, and data in a file
//! without a name in memory, which a small process ([`hold()`]) keeps as well. When the server ends
//! by a signal, the device is deleted. When it is killed, requests wait, until a new server takes
//! the device over with the data of the holder, or the restore guard deletes it.

pub mod module;
mod queue;
mod record;
mod serve;
mod shape;

pub use queue::hold;
pub use record::{Record, default_folder, delete, list, service_of};
pub use serve::{ServeRequest, ServerWork, serve};
pub(crate) use shape::token;
pub use shape::{RamdiskShape, check, check_ublk};

//! RAM block devices for `q2c ramdisk`: made by the kernel module `ramdisk_mq`, or served by ublk.
//!
//! [`serve()`] is the server of a ublk device. It has a thread per hardware queue, and keeps the
//! data in an anonymous memory file, which a small process ([`hold()`]) keeps open as well. A
//! signal ends the server and deletes the device. When the server is killed, requests wait until a
//! new server recovers the device with the holder's data, or the restore guard deletes it.

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

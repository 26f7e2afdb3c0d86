//! ublk: block devices that a process serves. The commands go by io_uring to the control device
//! and to the device's own file. Data are copied by reading and writing that file (Linux 6.5 and
//! later).

mod abi;
mod control;
mod queue;

pub use control::{CONTROL, Control, DeviceInfo, UblkShape};
pub use queue::{Queue, UblkMemory, UblkOp, UblkRequest};

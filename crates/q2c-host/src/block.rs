//! Block devices: finding the disk of a path, and the disk's facts, statistics and interrupts.

mod device;
mod generic;
mod interrupts;
mod leaf;
mod pci;
mod stats;

pub use device::read as device;
pub use generic::{Generic, NoGeneric};
pub use interrupts::{Interrupts, IrqLine};
pub(crate) use leaf::parse_dev;
pub use leaf::{Disk, Leaf, NoLeaf, device_number, of_device, of_disk_name, of_path};
pub use pci::{is_pci_address, pci_address, pci_node};
pub use stats::{DiskStats, OpStats, StatsError};

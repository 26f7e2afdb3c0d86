//! Block devices: finding the disk of a path, and the disk's facts, statistics and interrupts.

mod character_device;
mod device;
mod hardware_queues;
mod interrupts;
mod pci;
mod point_device;
mod stats;
mod target_disk;

pub use character_device::{CharacterDevice, NoCharacterDevice};
pub use device::{read as device, unsplit};
pub use hardware_queues::{hardware_queues, show_hardware_queues};
pub use interrupts::{Interrupts, IrqLine};
pub use pci::{is_pci_address, pci_address, pci_node};
pub use point_device::{point_device, queue_setting};
pub use stats::{DiskStats, OpStats};
pub use target_disk::{
    Disk, NoDisk, TargetDisk, of_device, of_disk_name, of_path, of_path_or_name,
};
pub(crate) use target_disk::{device_number, parse_dev};

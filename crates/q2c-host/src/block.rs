//! Block devices: finding the disk of a path, and the disk's facts, statistics and interrupts.

mod character_device;
mod device;
mod interrupts;
mod stats;
mod target_disk;

pub use character_device::{CharacterDevice, NoCharacterDevice};
pub use device::{
    hardware_queues, point_device, queue_setting, read as device, show_hardware_queues, unsplit,
};
pub use interrupts::{Interrupts, IrqLine};
pub use stats::{DiskStats, OpStats};
pub use target_disk::{
    Disk, NoDisk, TargetDisk, disk_by_name, disk_of_device, disk_of_path, disk_of_path_or_name,
    hardware_disks, is_pci_address, pci_address, pci_node,
};
pub(crate) use target_disk::{device_number, disk_of_metadata, number_of, parse_dev};

//! Tests of NVMe namespaces by their character device, on fake trees. `/dev/null` (1:3) stands in
//! for that device.

use crate::tree::SysProcTree;
use q2c_host::block::{self, CharacterDevice, NoCharacterDevice};
use q2c_host::target::{TargetError, TargetRequirements, WritePermission, open};
use q2c_model::{Bytes, DevId, Fault};
use q2c_result::Exit;
use std::path::{Path, PathBuf};

/// A namespace with one path, whose devices are in the controller's folder, and a second one with a
/// hidden path beside its multipath head.
const NVME: &str = "
    sys/devices/pci0/nvme/nvme0/ng0n1/dev = 1:3
    sys/devices/pci0/nvme/nvme0/nvme0n1/dev = 259:4
    sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/dev = 259:5
    sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/partition = 1
    sys/devices/pci0/nvme/nvme0/nvme0n1/queue/io_poll = 1
    sys/devices/pci0/nvme/nvme0/nvme0c0n2/dev = 259:9
    sys/devices/pci0/nvme/nvme0/hwmon1/name = nvme
    sys/devices/virtual/nvme-subsystem/nvme-subsys0/ng0n2/dev = 241:7
    sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n2/dev = 259:6
    sys/devices/virtual/block/loop0/dev = 7:0
    sys/dev/char/1:3 -> ../../devices/pci0/nvme/nvme0/ng0n1
    sys/dev/char/241:7 -> ../../devices/virtual/nvme-subsystem/nvme-subsys0/ng0n2
    sys/dev/char/1:5 -> ../../devices/virtual/mem/zero
    sys/devices/virtual/mem/zero/dev = 1:5
    sys/dev/block/259:4 -> ../../devices/pci0/nvme/nvme0/nvme0n1
    sys/dev/block/259:5 -> ../../devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1
    sys/dev/block/259:6 -> ../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n2
    sys/dev/block/7:0 -> ../../devices/virtual/block/loop0
    sys/block/nvme0n1 -> ../devices/pci0/nvme/nvme0/nvme0n1
    proc/self/mountinfo = 27 1 8:1 / / rw - ext4 /dev/q2c-none rw
";

fn dev(major: u32, minor: u32) -> DevId {
    DevId { major, minor }
}

#[test]
fn both_devices_of_a_namespace_find_each_other() {
    let tree = SysProcTree::new(NVME);
    let roots = tree.roots();
    for (character, name, number, disk) in [
        (dev(1, 3), "ng0n1", dev(259, 4), "nvme0n1"),
        (dev(241, 7), "ng0n2", dev(259, 6), "nvme0n2"),
    ] {
        let wanted = CharacterDevice {
            name: name.to_owned(),
            dev: character,
            block: Some((disk.to_owned(), number)),
        };
        let device = CharacterDevice::from_number(&roots, character);
        assert_eq!(device.as_ref(), Some(&wanted));
        let target_disk = block::disk_of_device(&roots, number).unwrap();
        assert_eq!(CharacterDevice::from_disk(&target_disk).unwrap(), wanted);
        assert_eq!(wanted.path(), PathBuf::from(format!("/dev/{name}")));
    }
    assert_eq!(CharacterDevice::from_number(&roots, dev(1, 5)), None);
    assert_eq!(CharacterDevice::from_number(&roots, dev(1, 9)), None);
}

#[test]
fn what_has_no_such_device_is_told_why() {
    let tree = SysProcTree::new(NVME);
    let refused = |number| {
        let target_disk = block::disk_of_device(&tree.roots(), number).unwrap();
        CharacterDevice::from_disk(&target_disk).unwrap_err()
    };
    assert!(matches!(refused(dev(7, 0)), NoCharacterDevice::OtherDriver(name) if name == "loop0"));
    let partition = refused(dev(259, 5)).to_string();
    let reason = "nvme0n1p1: it is a partition";
    assert!(partition.contains(reason), "{partition}");
    assert!(partition.ends_with("name nvme0n1"), "{partition}");
    // As on Linux 5.10, which shows the disk only.
    std::fs::remove_dir_all(tree.path("sys/devices/pci0/nvme/nvme0/ng0n1")).unwrap();
    let old = refused(dev(259, 4)).to_string();
    assert!(old.contains("5.13") && old.contains("5.19"), "{old}");
}

fn refused(tree: &SysProcTree, write: bool, paths: &[&str]) -> TargetError {
    let wanted = TargetRequirements {
        path: "/dev/null".into(),
        write,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 4,
    };
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let permission = WritePermission::for_paths(&paths).unwrap();
    open(&tree.roots(), &wanted, &permission).unwrap_err()
}

/// The checks that protect the block device also protect the character device.
#[test]
fn a_namespace_in_use_is_not_written_by_commands() {
    let tree = SysProcTree::new(NVME);
    let mount = |line: &str| tree.add(&format!("proc/self/mountinfo = {line}"));
    let none = refused(&tree, true, &[]);
    assert!(none.to_string().contains("--allow-write"), "{none}");
    let other = refused(&tree, true, &["/dev/zero"]);
    assert!(matches!(other, TargetError::NoPermission { .. }));
    for used in ["259:4", "259:5"] {
        mount(&format!("27 1 {used} / /data rw - ext4 /dev/q2c-none rw"));
        let mounted = refused(&tree, true, &["/dev/null"]);
        assert!(matches!(mounted, TargetError::Occupied { .. }), "{mounted}");
        let message = mounted.to_string();
        assert!(message.contains("mounted at /data"), "{message}");
        assert_eq!(Fault::from(mounted).exit(), Exit::Target);
    }
    // Now the namespace is free. The next step is to hold the block device, which does not exist
    // here.
    mount("27 1 8:1 / / rw - ext4 /dev/q2c-none rw");
    if Path::new("/dev/nvme0n1").exists() {
        return crate::skip("this machine has the device that should be missing");
    }
    let unheld = refused(&tree, true, &["/dev/null"]).to_string();
    assert!(unheld.contains("exclusive hold /dev/nvme0n1"), "{unheld}");
    std::fs::remove_dir_all(tree.path("sys/devices/pci0/nvme/nvme0/nvme0n1")).unwrap();
    let alone = refused(&tree, true, &["/dev/null"]);
    assert!(matches!(alone, TargetError::NoSibling { .. }), "{alone}");
}

/// A device that answers as no namespace is refused, whatever sysfs says.
#[test]
fn a_device_that_knows_no_namespace_is_refused() {
    let tree = SysProcTree::new(NVME);
    let other = refused(&tree, false, &[]);
    assert!(matches!(other, TargetError::Nvme { .. }), "{other}");
    assert!(other.to_string().contains("/dev/null for NVMe"), "{other}");
}

use super::cases::{NVME, tree_with, verdict};
use super::{GOOD, good_target, report};
use crate::tree::SysProcTree;
use CheckVerdict::{Pass, Unknown, Warn};
use q2c_model::Bytes;
use q2c_result::{CheckVerdict, Target, TargetKind};

pub(crate) const CASES: &str = "
    NVME/hwmon1/temp1_input = 77850 ; device-temperature ; Warn ; 77 C, limit 81 C ; -
    NVME/hwmon1/temp1_input = 76000 ; device-temperature ; Pass ; 76 C, limit 81 C ; -
    - NVME/hwmon1/temp1_max ; device-temperature ; Unknown ; limit not told ; -
    - NVME/hwmon1 ; device-temperature ; Unknown ; tells no temperature ; -
    sys/devices/pci0/current_link_speed = 8.0 GT/s PCIe ; pcie-link ; Warn ; 8.0 GT/s PCIe x4 of 16.0 ; -
    sys/devices/pci0/current_link_width = 2 ; pcie-link ; Warn ; x2 of ; -
    sys/devices/pci0/current_link_speed = Unknown ; pcie-link ; Unknown ; Unknown x4 ; -
    - sys/devices/system/node ; device-node ; Unknown ; no nodes ; -
    proc/self/mountinfo = 30 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw ; mounted ; Pass ; no file system ; -
    proc/self/mountinfo = 30 22 259:0 / /data rw - xfs /dev/nvme0n1 rw ; mounted ; Warn ; mounted at /data ; -
    QUEUE/write_cache = write back ; write-cache ; Warn ; write back ; -
    QUEUE/write_cache = odd ; write-cache ; Unknown ; odd ; -
    QUEUE/logical_block_size = 512 ; block-size ; Warn ; 512 B blocks on 4096 B ; -
    proc/meminfo = MemTotal: 268435456 kB ; target-memory ; Warn ; of memory ; -
";

#[test]
fn a_mounted_partition_counts() {
    let tree = tree_with(&format!(
        "{NVME}/nvme0n1/nvme0n1p1/partition = 1
         {NVME}/nvme0n1/nvme0n1p1/dev = 259:1
         proc/self/mountinfo = 30 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw"
    ));
    assert_eq!(verdict(&tree, &good_target(), "mounted"), Warn);
}

#[test]
fn files_were_checked_when_they_were_opened() {
    let file = |unproved: &[&str]| Target {
        kind: TargetKind::File,
        file_system: Some("ext4".into()),
        unproved: unproved.iter().map(|&u| u.to_owned()).collect(),
        size: Bytes(100 << 30),
        ..good_target()
    };
    let tree = SysProcTree::new(GOOD);
    assert_eq!(verdict(&tree, &file(&[]), "target-written"), Pass);
    let doubt = "whether the file is fully written: its file system does not tell where it lies (EOPNOTSUPP)";
    assert_eq!(verdict(&tree, &file(&[doubt]), "target-written"), Unknown);
    assert_eq!(verdict(&tree, &good_target(), "target-written"), Unknown);
    let checks = report(&tree, &file(&[]), None);
    // A file's system is mounted, of course.
    assert!(checks.iter().all(|c| c.id != "mounted"));
}

use crate::tree::SysProcTree;
use q2c_host::Roots;
use q2c_host::block::{self, DiskStats, Interrupts, NoDisk};
use q2c_model::{Bytes, CpuId, DevId};

const PCI: &str = "
    sys/devices/pci0/0000:02/virtio1/block/vda/dev = 254:0
    sys/devices/pci0/0000:02/virtio1/block/vda/size = 2048
    sys/devices/pci0/0000:02/virtio1/block/vda/stat = 1 2 3 4 5 6 7 8 9 10 11
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/logical_block_size = 512
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/scheduler = none [mq-deadline] kyber
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/nr_requests = 256
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/io_poll = 0
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/nomerges = 2
    sys/devices/pci0/0000:02/virtio1/block/vda/queue/write_cache = write back
    sys/devices/pci0/0000:02/virtio1/block/vda/mq/0/
    sys/devices/pci0/0000:02/virtio1/block/vda/mq/1/
    sys/devices/pci0/0000:02/virtio1/block/vda/vda1/dev = 254:1
    sys/devices/pci0/0000:02/virtio1/block/vda/vda1/partition = 1
    sys/devices/pci0/0000:02/msi_irqs/36 = msix
    sys/devices/pci0/0000:02/msi_irqs/37 = msix
    sys/dev/block/254:0 -> ../../devices/pci0/0000:02/virtio1/block/vda
    sys/dev/block/254:1 -> ../../devices/pci0/0000:02/virtio1/block/vda/vda1
    sys/block/vda -> ../devices/pci0/0000:02/virtio1/block/vda
    proc/interrupts =   CPU0 CPU1\\n 35: 9 9 PCI-MSIX 0-edge virtio0-config\\n 36: 0 1 PCI-MSIX 0-edge virtio1-config\\n 37: 100 7000 PCI-MSIX 1-edge virtio1-req.0\\nLOC: 1 1 Local timer
";

const DM: &str = "
    sys/devices/virtual/block/dm-0/dev = 252:0
    sys/devices/virtual/block/dm-0/slaves/vda1 -> ../../../../pci0/0000:02/virtio1/block/vda/vda1
    sys/dev/block/252:0 -> ../../devices/virtual/block/dm-0
";

fn dev(major: u32, minor: u32) -> DevId {
    DevId { major, minor }
}

fn below(disk: &block::TargetDisk) -> Vec<&str> {
    disk.below.iter().map(|d| d.name.as_str()).collect()
}

#[test]
fn a_partition_leads_to_its_disk() {
    let tree = SysProcTree::new(PCI);
    let target_disk = block::disk_of_device(&tree.roots(), dev(254, 1)).unwrap();
    assert_eq!(target_disk.disk.name, "vda");
    assert_eq!(target_disk.disk.dev, dev(254, 0));
    assert_eq!(target_disk.partition.as_deref(), Some("vda1"));
    assert!(target_disk.unproved.is_empty() && target_disk.below.is_empty());
    let stats = DiskStats::read(&target_disk.disk.dir).unwrap();
    assert_eq!(stats.write.requests, 5);
}

#[test]
fn facts_of_a_disk() {
    let tree = SysProcTree::new(PCI);
    let target_disk = block::disk_of_device(&tree.roots(), dev(254, 0)).unwrap();
    let facts = block::device(&tree.roots(), &target_disk);
    assert_eq!(facts.size, Some(Bytes(2048 * 512)));
    assert_eq!(facts.logical_block, Some(Bytes(512)));
    assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
    let queue = (facts.nr_requests, facts.hw_queues, facts.nomerges);
    assert_eq!(queue, (Some(256), Some(2), Some(2)));
    assert_eq!(facts.io_poll, Some(false));
    assert_eq!(facts.write_cache.as_deref(), Some("write back"));
    assert_eq!((facts.model, facts.firmware), (None, None));
    assert_eq!(facts.irq_cpus, [CpuId(1), CpuId(0)]);
}

#[test]
fn interrupts_by_adapter_and_by_name() {
    let tree = SysProcTree::new(PCI);
    let roots = tree.roots();
    let target_disk = block::disk_by_name(&roots, "vda").unwrap();
    let lines = Interrupts::read(&roots, &target_disk).unwrap();
    let irqs: Vec<u32> = lines.lines.iter().map(|l| l.irq).collect();
    assert_eq!(irqs, [36, 37]);
    assert_eq!(lines.total(), 7101);
    // Without message-signalled interrupts the lines are found by the names that the driver gives.
    std::fs::remove_dir_all(tree.path("sys/devices/pci0/0000:02/msi_irqs")).unwrap();
    let counted = Interrupts::read(&roots, &target_disk).unwrap();
    assert_eq!(counted.total(), 7101);
    // A line in the adapter's `irq` file comes before the names.
    tree.add("sys/devices/pci0/0000:02/virtio1/irq = 35");
    assert_eq!(Interrupts::read(&roots, &target_disk).unwrap().total(), 18);
}

#[test]
fn stacked_disks_say_what_is_not_proved() {
    let tree = SysProcTree::new(PCI);
    tree.add(DM);
    let roots = tree.roots();
    let target_disk = block::disk_of_device(&roots, dev(252, 0)).unwrap();
    assert_eq!(target_disk.disk.name, "dm-0");
    assert_eq!(below(&target_disk), ["vda"]);
    let unproved = &target_disk.unproved;
    assert!(unproved[0].contains("dm-0 stands on vda"), "{unproved:?}");
    let counted = Interrupts::read(&roots, &target_disk).unwrap();
    assert_eq!(counted.total(), 7101);
    assert_eq!(block::device(&roots, &target_disk).hw_queues, None);
}

#[test]
fn nvme_multipath_heads_stand_on_their_paths() {
    let tree = SysProcTree::new(
        "
        sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/dev = 259:1
        sys/devices/pci0/0000:05/nvme/nvme1/nvme0c1n1/size = 8
        sys/devices/pci0/0000:05/nvme/nvme1/nvme0c1n12/size = 8
        sys/devices/pci0/0000:05/msi_irqs/50 = msix
        sys/block/nvme0n1 -> ../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1
        sys/block/nvme0c1n1 -> ../devices/pci0/0000:05/nvme/nvme1/nvme0c1n1
        sys/block/nvme0c1n12 -> ../devices/pci0/0000:05/nvme/nvme1/nvme0c1n12
        proc/interrupts = CPU0\\n 50: 12 PCI-MSI 1-edge nvme1q1
        ",
    );
    let target_disk = block::disk_by_name(&tree.roots(), "nvme0n1").unwrap();
    assert_eq!(below(&target_disk), ["nvme0c1n1"]);
    let counted = Interrupts::read(&tree.roots(), &target_disk).unwrap();
    assert_eq!(counted.total(), 12);
}

/// Of a disk, a hidden path, a drive without a medium, a loop device and a partition, the disk is
/// hardware.
#[test]
fn disks_of_hardware() {
    let tree = SysProcTree::new(
        "
        sys/devices/pci0/nvme0n1/device/model = A
        sys/devices/pci0/nvme0n1/size = 8
        sys/devices/pci0/nvme0n1/dev = 259:1
        sys/devices/pci0/nvme0n1/nvme0n1p1/size = 4
        sys/devices/pci0/nvme0c1n1/device/model = A
        sys/devices/pci0/nvme0c1n1/size = 8
        sys/devices/pci0/nvme0c1n1/hidden = 1
        sys/devices/pci0/sr0/device/model = B
        sys/devices/pci0/sr0/size = 0
        sys/devices/virtual/block/loop0/size = 8
        sys/block/nvme0n1 -> ../devices/pci0/nvme0n1
        sys/block/nvme0c1n1 -> ../devices/pci0/nvme0c1n1
        sys/block/sr0 -> ../devices/pci0/sr0
        sys/block/loop0 -> ../devices/virtual/block/loop0
        ",
    );
    let disks = block::hardware_disks(&tree.roots());
    let [disk] = &disks[..] else {
        panic!("{disks:?}");
    };
    assert_eq!((disk.name.as_str(), disk.dev), ("nvme0n1", dev(259, 1)));
}

#[test]
fn numbers_without_a_disk() {
    let tree = SysProcTree::new(PCI);
    let anonymous = block::disk_of_device(&tree.roots(), dev(0, 45)).unwrap_err();
    assert!(matches!(anonymous, NoDisk::Anonymous { .. }));
    assert!(anonymous.to_string().contains("0:45"));
    let unknown = block::disk_of_device(&tree.roots(), dev(8, 0)).unwrap_err();
    assert!(matches!(unknown, NoDisk::NotInSysfs { .. }));
}

#[test]
fn this_machine_agrees_with_its_own_listing() {
    let roots = Roots::live();
    let Ok(entries) = std::fs::read_dir(roots.sys("block")) else {
        return crate::skip("no /sys/block");
    };
    for name in entries.map(|e| e.unwrap().file_name().into_string().unwrap()) {
        let by_name = block::disk_by_name(&roots, &name).unwrap();
        assert_eq!(by_name.disk.name, name);
        assert_eq!(block::disk_of_path_or_name(&roots, &name).unwrap(), by_name);
        if by_name.disk.dev.major != 0 {
            assert_eq!(
                block::disk_of_device(&roots, by_name.disk.dev).unwrap(),
                by_name
            );
        }
    }
}

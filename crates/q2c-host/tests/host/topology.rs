//! Tests of the topology and the order of CPUs, on fake trees. The expected orders were worked out
//! by hand.

use crate::tree::SysProcTree;
use q2c_host::topology::{ChosenCpus, Topology, cpu_order, device_node};
use q2c_host::{Roots, block};
use q2c_model::CpuId;

fn cpus(numbers: &[u32]) -> Vec<CpuId> {
    numbers.iter().copied().map(CpuId).collect()
}

fn order(tree: &SysProcTree, node: Option<u32>, allowed: &[u32]) -> ChosenCpus {
    cpu_order(&Topology::read(&tree.roots()), node, &cpus(allowed), None)
}

fn numbers(order: &ChosenCpus) -> Vec<u32> {
    order.cpus.iter().map(|cpu| cpu.0).collect()
}

fn add_cpu(tree: &SysProcTree, id: u32, siblings: &str, core: u32, package: i32) {
    let dir = format!("sys/devices/system/cpu/cpu{id}/topology");
    tree.add(&format!("{dir}/core_cpus_list = {siblings}"));
    tree.add(&format!("{dir}/core_id = {core}"));
    tree.add(&format!("{dir}/physical_package_id = {package}"));
}

/// One socket of four cores without SMT.
fn desktop() -> SysProcTree {
    let tree = SysProcTree::new(
        "sys/devices/system/cpu/online = 0-3
         sys/devices/system/node/node0/cpulist = 0-3
         sys/devices/system/node/node0/distance = 10",
    );
    (0..4).for_each(|id| add_cpu(&tree, id, &id.to_string(), id, 0));
    tree
}

/// Two sockets of two cores with two threads each, numbered as Intel firmware does: 0-3 are the
/// first threads (0 and 2 in socket 0), 4-7 their siblings.
fn server() -> SysProcTree {
    let tree = SysProcTree::new(
        "sys/devices/system/cpu/online = 0-7
         sys/devices/system/node/node0/cpulist = 0,2,4,6
         sys/devices/system/node/node0/distance = 10 21
         sys/devices/system/node/node1/cpulist = 1,3,5,7
         sys/devices/system/node/node1/distance = 21 10
         sys/devices/system/node/power/
         sys/devices/pci/0000:c1/numa_node = 1
         sys/devices/pci/0000:c1/nvme/nvme0/nvme0n1/dev = 259:0
         sys/block/nvme0n1 -> ../devices/pci/0000:c1/nvme/nvme0/nvme0n1",
    );
    for id in 0..8 {
        let first = id % 4;
        let siblings = format!("{first},{}", first + 4);
        add_cpu(&tree, id, &siblings, first / 2, (id % 2) as i32);
    }
    tree
}

#[test]
fn one_socket_without_smt() {
    let tree = desktop();
    let cpu_order = order(&tree, None, &[0, 1, 2, 3]);
    assert_eq!(numbers(&cpu_order), [0, 1, 2, 3]);
    assert_eq!(cpu_order.words, "0-3 (cores of node 0, socket 0)");
    assert!(cpu_order.borders.is_empty());
    assert_eq!(cpu_order.first(6), cpus(&[0, 1, 2, 3, 0, 1]));
}

#[test]
fn two_sockets_with_smt_and_a_device_on_the_second() {
    let tree = server();
    let target_disk = block::disk_by_name(&tree.roots(), "nvme0n1").unwrap();
    let node = device_node(&tree.roots(), &target_disk);
    assert_eq!(node, Some(1));
    let cpu_order = order(&tree, node, &[0, 1, 2, 3, 4, 5, 6, 7]);
    // The order is: cores of node 1, cores of node 0, siblings of node 1, siblings of node 0.
    assert_eq!(numbers(&cpu_order), [1, 3, 0, 2, 5, 7, 4, 6]);
    assert_eq!(
        cpu_order.words,
        "1,3 (cores of node 1, the device's), then 0,2 (cores of node 0, socket 0), then 5,7 (SMT siblings of node 1, \
         the device's), then 4,6 (SMT siblings of node 0, socket 0)"
    );
    let borders = cpu_order.borders.iter();
    let borders: Vec<(u32, &str)> = borders.map(|b| (b.jobs, b.next.as_str())).collect();
    let wanted = [
        (2, "cores of node 0, socket 0"),
        (4, "SMT siblings of node 1, the device's"),
        (6, "SMT siblings of node 0, socket 0"),
    ];
    assert_eq!(borders, wanted);
    let unknown = order(&tree, None, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(numbers(&unknown), [0, 2, 1, 3, 4, 6, 5, 7]);
    assert!(unknown.words.ends_with("the device's node is not known"));
}

#[test]
fn only_allowed_cpus_and_a_lone_sibling_has_a_core() {
    let cpu_order = order(&server(), Some(0), &[4, 2, 6, 1, 99]);
    // CPU 4 counts as a core, as its sibling 0 is not allowed; 6 shares a core with 2.
    assert_eq!(numbers(&cpu_order), [2, 4, 1, 6]);
    let sibling = cpu_order.borders.last().unwrap();
    let expected = (3, "SMT siblings of node 0, the device's");
    assert_eq!((sibling.jobs, sibling.next.as_str()), expected);
    let nothing = order(&server(), None, &[]);
    assert!(nothing.cpus.is_empty() && nothing.first(3).is_empty());
}

#[test]
fn nearer_nodes_come_first() {
    let tree = SysProcTree::new(
        "sys/devices/system/cpu/online = 0-2
         sys/devices/system/node/node0/cpulist = 0
         sys/devices/system/node/node0/distance = 10 32 12
         sys/devices/system/node/node1/cpulist = 1
         sys/devices/system/node/node2/cpulist = 2",
    );
    (0..3).for_each(|id| add_cpu(&tree, id, &id.to_string(), 0, id as i32));
    assert_eq!(numbers(&order(&tree, Some(0), &[0, 1, 2])), [0, 2, 1]);
    // Node 1 shows no distances, so the other nodes follow by number.
    assert_eq!(numbers(&order(&tree, Some(1), &[0, 1, 2])), [1, 0, 2]);
}

#[test]
fn offline_cpus_are_left_out() {
    let tree = server();
    tree.add("sys/devices/system/cpu/online = 0-3,5-7");
    // The kernel keeps only online threads in the list of siblings; the node's list may lag behind.
    add_cpu(&tree, 0, "0", 0, 0);
    let topology = Topology::read(&tree.roots());
    assert_eq!(topology.cpus.len(), 7);
    assert_eq!(topology.cpu(CpuId(0)).unwrap().siblings, cpus(&[0]));
    assert_eq!(topology.cpu(CpuId(4)), None);
    let cpu_order = order(&tree, Some(0), &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(numbers(&cpu_order), [0, 2, 1, 3, 6, 5, 7]);
}

#[test]
fn what_is_missing_is_said() {
    let bare = Topology::read(&SysProcTree::new("sys/devices/system/cpu/online = 0-1").roots());
    assert_eq!(bare.cpus[1].siblings, cpus(&[1]));
    let wanted = [
        "SMT siblings of CPUs 0-1",
        "socket of CPUs 0-1",
        "NUMA node of CPUs 0-1",
    ];
    assert_eq!(bare.missing_facts, wanted);
    let placed = cpu_order(&bare, None, &cpus(&[0, 1]), None);
    assert_eq!(numbers(&placed), [0, 1]);
    let begin = "0-1 (cores); not told: SMT siblings of CPUs 0-1,";
    assert!(placed.words.starts_with(begin));
    let nothing = Topology::read(&SysProcTree::new("proc/").roots());
    assert!(
        nothing.cpus.is_empty() && nothing.missing_facts[0].starts_with("which CPUs are online")
    );
}

#[test]
fn nodes_of_devices() {
    let tree = server();
    tree.add("sys/devices/virtual/block/loop0/dev = 7:0");
    tree.add("sys/devices/virtual/block/md0/slaves/nvme0n1 -> ../../../../pci/0000:c1/nvme/nvme0/nvme0n1");
    let node = |name: &str, dir: &str| {
        tree.add(&format!("sys/block/{name} -> ../devices/{dir}"));
        let disk = block::disk_by_name(&tree.roots(), name).unwrap();
        device_node(&tree.roots(), &disk)
    };
    assert_eq!(node("loop0", "virtual/block/loop0"), None);
    assert_eq!(node("md0", "virtual/block/md0"), Some(1));
    tree.add("sys/devices/pci/0000:c2/numa_node = -1");
    tree.add("sys/devices/pci/0000:c2/nvme/nvme1/nvme1n1/dev = 259:1");
    assert_eq!(node("nvme1n1", "pci/0000:c2/nvme/nvme1/nvme1n1"), None);
    // A stacked disk over disks on two nodes has no node.
    tree.add("sys/devices/virtual/block/md0/slaves/nvme1n1 -> ../../../../pci/0000:c2/nvme/nvme1/nvme1n1");
    let md0 = block::disk_by_name(&tree.roots(), "md0").unwrap();
    assert_eq!(md0.below.len(), 2);
    assert_eq!(device_node(&tree.roots(), &md0), None);
}

#[test]
fn this_machine_has_an_order() {
    let topology = Topology::read(&Roots::live());
    let online: Vec<CpuId> = topology.cpus.iter().map(|c| c.id).collect();
    assert!(!online.is_empty());
    let mut placed: Vec<CpuId> = cpu_order(&topology, None, &online, None).first(online.len());
    placed.sort();
    assert_eq!(placed, online);
}

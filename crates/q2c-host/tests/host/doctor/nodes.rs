use super::cases::tree_with;
use super::{find, good_target};
use crate::tree::SysProcTree;
use CheckVerdict::{Pass, Unknown, Warn};
use q2c_host::doctor::{DoctorFacts, run};
use q2c_model::CpuId;
use q2c_result::CheckVerdict;

/// Two sockets with four threads: 0 and 2 are one core on node 0, 1 and 3 one core on node 1. The
/// device is on node 0.
fn two_nodes() -> SysProcTree {
    let mut lines = String::from(
        "sys/devices/system/cpu/online = 0-3
         sys/devices/system/node/node0/cpulist = 0,2
         sys/devices/system/node/node1/cpulist = 1,3
         proc/sys/kernel/numa_balancing = 0\n",
    );
    for cpu in 0..4 {
        let siblings = [cpu % 2, cpu % 2 + 2].map(|c| c.to_string()).join(",");
        lines += &format!(
            "sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list = {siblings}\n"
        );
    }
    tree_with(&lines)
}

#[test]
fn jobs_far_from_the_device_and_on_one_core() {
    let tree = two_nodes();
    let (roots, target) = (tree.roots(), good_target());
    let with = |jobs: &[u32], id: &str| {
        let mut facts = DoctorFacts::new(&roots, Some(&target));
        facts.jobs = jobs.iter().copied().map(CpuId).collect();
        let checks = run(&facts).checks;
        let check = find(&checks, id);
        (check.verdict, check.found.clone())
    };
    let near = (Pass, "nvme0n1 is on node 0 (CPUs 0,2)".into());
    assert_eq!(with(&[], "device-node"), near);
    assert_eq!(with(&[0], "device-node").0, Pass);
    let far = with(&[0, 1, 3], "device-node");
    assert_eq!(far.0, Warn);
    assert!(far.1.ends_with("jobs on CPUs 1,3"), "{far:?}");
    let cases: [(&[u32], CheckVerdict); 3] = [(&[], Warn), (&[0, 2], Warn), (&[0, 1], Pass)];
    for (jobs, verdict) in cases {
        assert_eq!(with(jobs, "smt").0, verdict);
    }
    assert_eq!(with(&[], "numa-balancing").0, Pass);
    tree.add("proc/sys/kernel/numa_balancing = 1");
    assert_eq!(with(&[], "numa-balancing").0, Warn);
    std::fs::remove_file(tree.path("sys/devices/pci0/numa_node")).unwrap();
    assert_eq!(with(&[], "device-node").0, Unknown);
}

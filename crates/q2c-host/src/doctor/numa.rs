use super::facts::DoctorFacts;
use super::finding::Finding;
use crate::cpu_list;
use crate::topology::device_node;
use q2c_model::CpuId;

pub(super) fn node(facts: &DoctorFacts) -> Option<Finding> {
    let target_disk = facts.target_disk.as_ref()?;
    let name = &target_disk.disk.name;
    if facts.topology.nodes.len() < 2 {
        return Some(if facts.topology.nodes.is_empty() {
            Finding::unknown(
                "the kernel tells no nodes",
                "whether memory is remote cannot be told",
            )
        } else {
            Finding::pass(
                "one NUMA node",
                "every CPU is as near to the device and to memory",
            )
        });
    }
    let Some(node) = device_node(facts.roots, target_disk) else {
        return Some(Finding::unknown(
            format!("the node of {name} is not told"),
            "jobs cannot be placed near to it: take CPUs of one node and compare with the other",
        ));
    };
    let remote = |cpu: &CpuId| !is_on_node(facts, *cpu, node);
    let remote: Vec<CpuId> = facts.jobs.iter().copied().filter(remote).collect();
    let local = facts.online().iter().copied();
    let local: Vec<CpuId> = local.filter(|&c| is_on_node(facts, c, node)).collect();
    let device_location = format!("{name} is on node {node} (CPUs {})", cpu_list::show(&local));
    Some(if remote.is_empty() {
        Finding::pass(
            device_location,
            "jobs there reach it without crossing sockets; further ones do",
        )
    } else {
        Finding::warn(
            format!(
                "{device_location}; jobs on CPUs {}",
                cpu_list::show(&remote)
            ),
            "those jobs reach device and buffers over the link between nodes: higher latency, less bandwidth",
        )
    })
}

fn is_on_node(facts: &DoctorFacts, cpu: CpuId, node: u32) -> bool {
    let cpu = facts.topology.cpu(cpu);
    cpu.is_some_and(|c| c.node == Some(node))
}

pub(super) fn balancing(facts: &DoctorFacts) -> Option<Finding> {
    const SWITCH: &str = "sys/kernel/numa_balancing";
    if facts.topology.nodes.len() < 2 {
        return None;
    }
    let value = facts.proc(SWITCH)?;
    let setting = format!("numa_balancing={value}");
    Some(match value.as_str() {
        "0" => Finding::pass(setting, "memory stays where it was allocated"),
        _ => Finding::warn(
            setting,
            "the kernel unmaps pages to learn who uses them: page faults in the middle of a run",
        )
        .mend(facts.set_proc("0", SWITCH)),
    })
}

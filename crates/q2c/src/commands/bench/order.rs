//! The order in which jobs take CPUs.

use crate::failure::{Fails, Failure};
use crate::workbench::Workbench;
use q2c_bench::BenchSpec;
use q2c_bench::asked::Asked;
use q2c_host::block::pci_node;
use q2c_host::topology::{Border, CpuOrder, Topology, cpu_order, device_node};
use q2c_model::CpuId;
use q2c_result::Exit;

/// CPUs in the order in which jobs take them.
pub struct Order {
    pub cpus: Vec<u32>,
    /// The order in words, for the result.
    pub words: String,
    /// Numbers of jobs at which the order goes on to CPUs of another kind.
    pub borders: Vec<Border>,
}

pub fn order(asked: &Asked, place: &Workbench) -> Result<Order, Failure> {
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let mut order = match &asked.cpus {
        None => by_topology(place, &allowed),
        Some(cpus) => Order {
            cpus: named(cpus, &allowed)?,
            words: "as asked".to_owned(),
            borders: Vec::new(),
        },
    };
    if let Some(helper) = asked.helper_cpu {
        // A single job takes the first CPU and its helper the second. The other CPUs follow.
        named(&[helper], &allowed)?;
        order.cpus.retain(|cpu| *cpu != helper);
        if order.cpus.is_empty() {
            order.cpus.push(helper);
        } else {
            order.cpus.insert(1, helper);
        }
        order.words += &format!(", the submitting thread's CPU {helper} second");
    }
    Ok(order)
}

/// The stored order of a run that goes on. Its borders are those that the machine has now; there
/// are none when the machine would now give another order.
pub fn stored(spec: &BenchSpec, place: &Workbench) -> Result<Order, Failure> {
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let today = by_topology(place, &allowed);
    let cpus = named(&spec.cpus, &allowed)?;
    Ok(Order {
        borders: if today.cpus == cpus {
            today.borders
        } else {
            Vec::new()
        },
        words: spec.cpu_order.clone(),
        cpus,
    })
}

fn by_topology(place: &Workbench, allowed: &[CpuId]) -> Order {
    let site = &place.workload.site;
    let topology = Topology::read(&site.roots);
    let node = match &site.leaf {
        Some(leaf) => device_node(&site.roots, leaf),
        None => pci_node(&site.roots, &place.target.path),
    };
    let CpuOrder {
        cpus,
        words,
        borders,
    } = cpu_order(&topology, node, allowed);
    Order {
        cpus: cpus.iter().map(|placed| placed.cpu.0).collect(),
        words,
        borders,
    }
}

/// Checks that each CPU may be used and is named once. A CPU that is named twice would count as
/// two.
fn named(cpus: &[u32], allowed: &[CpuId]) -> Result<Vec<u32>, Failure> {
    let have: Vec<String> = allowed.iter().map(|cpu| cpu.0.to_string()).collect();
    let wrong = |why: String| Err(Failure::new(Exit::Usage, why));
    for (at, cpu) in cpus.iter().enumerate() {
        if !allowed.contains(&CpuId(*cpu)) {
            let have = have.join(", ");
            return wrong(format!("use CPU {cpu}: q2c may run on CPUs {have} here"));
        }
        if cpus[..at].contains(cpu) {
            return wrong(format!("use CPU {cpu} twice: name each CPU once"));
        }
    }
    Ok(cpus.to_vec())
}

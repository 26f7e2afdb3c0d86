//! The machine's cores, hardware threads, sockets and NUMA nodes, and the order in which jobs are
//! given CPUs.

mod choice;
mod read;

pub use choice::{AllowedCpus, ChosenCpus, UnnamedCpus, interrupted_cpus};
pub use read::{Border, NumaNode, Topology, TopologyCpu, cpu_order, device_node};

//! The machine's cores, hardware threads, sockets and NUMA nodes, and the order in which jobs are
//! given CPUs.

mod choice;
mod order;
mod read;

pub use choice::{AllowedCpus, ChosenCpus, UnnamedCpus, interrupted_cpus};
pub use order::{Border, CpuOrder, CpuPosition, cpu_order};
pub use read::{NumaNode, Topology, TopologyCpu, device_node};

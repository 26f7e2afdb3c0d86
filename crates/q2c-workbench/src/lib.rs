//! The parts that the measured studies share: the workbench, which opens a target and chooses CPUs;
//! the workload that runs in stages, with the machine's counters read between them; the
//! calibration, which measures what sleeping and polling cost on this machine; and files for
//! recordings that do not fit into memory.

pub mod calibrate;
mod examine;
pub mod lane_file;
pub mod workbench;
mod workbench_error;
pub mod workload;
mod workload_cpus;
mod workload_request;
mod workload_target;

pub use examine::examine;
pub use workload_target::LEAST_BLOCKS;

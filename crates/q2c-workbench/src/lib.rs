//! The parts that the measured studies share: the workbench, which opens a target and chooses CPUs;
//! the busy CPUs of jobs;
//! the workload that runs in stages, with the machine's counters read between them; the
//! calibration, which measures what sleeping and polling cost on this machine; late time, and
//! stages in the block layer, from runs with its capture beside them; and files for recordings that
//! exceed memory.

pub mod busy;
pub mod calibrate;
mod cpu_choice;
mod examine;
pub mod lane_file;
pub mod late;
pub mod polling;
pub mod settings;
pub mod stages;
pub mod workbench;
pub mod workload;
mod workload_target;

pub use examine::{RunnerClock, examine, facts as doctor_facts};
pub use workload_target::{LEAST_BLOCKS, check_machine};

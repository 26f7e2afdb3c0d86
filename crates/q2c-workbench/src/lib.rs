//! The parts that measured studies share. The workbench opens a target and chooses CPUs. The
//! workload runs in stages, and the machine's counters are read between them. The calibration
//! measures the costs of sleeping and polling on this machine. Extra runs with a capture of the
//! block layer give late time and stages. Other modules compute the busy CPUs of jobs and store
//! recordings that exceed memory.

pub mod busy;
pub mod calibrate;
mod cpu_choice;
mod examine;
pub mod kinds;
pub mod lane_file;
pub mod late;
pub mod polling;
pub mod settings;
pub mod stages;
pub mod workbench;
pub mod workload;
mod workload_target;

pub use examine::{RunnerClock, examine, facts as doctor_facts};
pub use workload_target::{MIN_BLOCKS, check_machine};

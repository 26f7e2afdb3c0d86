//! The parts that the measured studies share: the workload that runs in stages, with the machine's
//! counters read between them; the calibration, which measures what sleeping and polling cost on
//! this machine; and files for recordings that do not fit into memory.

pub mod calibrate;
pub mod lane_file;
pub mod workload;

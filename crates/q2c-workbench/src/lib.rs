//! The bench top of every measured study: the workload that runs in stages, the machine's counters
//! that are read between them, the calibration of what sleeping and polling cost here, and files
//! for recordings that memory has no room for.

pub mod calibrate;
pub mod lane_file;
pub mod workload;

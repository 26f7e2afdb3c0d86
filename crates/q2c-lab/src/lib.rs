//! The laboratory: run folders, and the runner that every experiment (tune, bench, compare, file systems,
//! placement) is a plan on.

pub mod calibrate;
pub mod run_dir;
pub mod workload;

pub use run_dir::{Identity, RunDir, RunState};

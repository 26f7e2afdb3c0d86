//! The laboratory: run folders, the runner that every experiment (tune, bench, compare, file systems, placement) is a
//! plan on, and the plans.

pub mod bench;
pub mod calibrate;
pub mod experiment;
pub mod kernel_watch;
pub mod replay;
pub mod run_dir;
pub mod runner;
pub mod steer;
pub mod study;
pub mod tune;
pub mod watch;
pub mod workload;

pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};

//! The runner that every measured study (tune, bench, compare, reproduce) is a plan on, and the
//! folders in which runs are kept.

pub mod run_dir;
pub mod runner;

pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};

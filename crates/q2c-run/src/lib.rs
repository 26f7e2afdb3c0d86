//! Run folders, and the runner of trials. Every measured study (tune, bench, compare, reproduce) is
//! a plan that the runner runs, and each run is kept in a folder of its own.

pub mod run_dir;
pub mod runner;

pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};

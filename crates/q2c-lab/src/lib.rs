//! The laboratory: run folders, and the runner that every experiment (tune, bench, compare, file systems,
//! placement) is a plan on.

pub mod run_dir;
pub mod runner;

pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};

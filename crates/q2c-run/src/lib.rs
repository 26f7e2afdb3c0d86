//! Run folders, and the runner of trials. Every measured study (tune, bench, compare, reproduce) is
//! a plan that the runner runs, and each run is kept in a folder of its own. Files that are read as
//! a whole are read by one module.

pub mod arguments;
pub mod config;
mod list;
pub mod run_dir;
pub mod runner;
pub mod whole_file;

pub use list::{FoundRun, runs};
pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};
pub use whole_file::kept_text;

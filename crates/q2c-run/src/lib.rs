//! Run folders, and the runner of trials. Every measured study (tune, bench, compare, reproduce) is
//! a plan that the runner runs. Each run has a folder of its own. The module [`whole_file`] reads
//! files that are loaded completely.

pub mod arguments;
pub mod config;
mod list;
pub mod run_dir;
pub mod runner;
pub mod whole_file;

pub use list::{FoundRun, runs};
pub use run_dir::{Identity, RunDir, RunState};
pub use runner::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};
pub use whole_file::read_result_text;

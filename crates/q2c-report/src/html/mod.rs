//! A result as one HTML file that opens without a network: charts, tables, and how to apply the
//! result.
//!
//! The page loads nothing from elsewhere, and its Content-Security-Policy forbids it. Only the two
//! scripts whose hashes the policy names can run, whatever a string in the result says.

mod analyze;
mod bench;
mod chart;
mod checks;
mod compare;
mod corun;
mod escape;
mod facts;
mod fs;
mod kernel_tune;
mod packing;
mod page;
mod place;
mod place_run;
mod place_watch;
mod plotly;
mod poll_search;
mod poll_study;
mod replay;
mod replayed;
mod reproduce;
mod results;
mod scale;
mod shell;
mod summary;
mod sweep;
mod tune_jobs;

pub use analyze::analyze;
pub(crate) use page::started;

pub use bench::bench;
pub use compare::compare;
pub use corun::place_calibrate;
pub use fs::fs;
pub use kernel_tune::kernel_tune;
pub use page::{RenderError, tune};
pub use place::place_sim;
pub use place_run::place_run;
pub use place_watch::place_watch;
pub use poll_search::poll_search;
pub use poll_study::poll_study;
pub use replay::replay;
pub use reproduce::{reproduce, reproduce_all};
pub use scale::scale;
pub use sweep::sweep;
pub use tune_jobs::tune_jobs;

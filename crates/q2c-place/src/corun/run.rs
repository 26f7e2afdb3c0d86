//! Computing and polling tasks together on all cores, in several placements.
//!
//! [`spec`] says which tasks run where, and [`plan`] is the plan for the runner. [`cores`] runs
//! trials on this machine, and [`conclude`] computes the figures.

mod compute;
pub mod conclude;
pub mod cores;
pub mod plan;
mod polls;
pub mod spec;
mod window;

pub use polls::PollTrial;

#[cfg(test)]
mod tests;

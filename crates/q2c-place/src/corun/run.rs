//! Computing and polling tasks together on all cores, in several placements.
//!
//! [`spec`] says which tasks run where, [`plan`] is the runner's plan over a place where trials
//! run, [`cores`] is this machine as that place, and [`conclude`] makes the figures.

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

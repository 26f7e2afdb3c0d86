//! Placement of polling tasks on a running machine.
//!
//! [`observe`] says which tasks poll and which compute, [`plan`] which of them should move by the
//! placement rules, and [`view`] by core what the present placement costs. The [`daemon`] gives
//! tasks the CPUs of their [`targets`](mod@targets).
pub mod daemon;
#[cfg(test)]
mod fixtures;
pub mod hints;
pub mod map;
pub mod observe;
pub mod plan;
pub mod scx;
pub mod targets;
pub mod view;

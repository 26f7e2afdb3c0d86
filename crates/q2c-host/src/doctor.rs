//! The doctor: what this machine can and cannot do, why, and the exact line that would change it.
//!
//! Checks read only. One file per group, one line per check in the `REGISTRY`; a check that does not apply (no
//! target named, no such hardware) is left out of the report.

mod build;
mod cpu;
mod finding;
mod idle;
mod irq;
mod kernel;
mod numa;
mod nvme;
mod queue;
mod registry;
mod scene;
mod target;
mod thermal;
mod tool;

pub use registry::run;
pub use scene::{RingProbe, Scene, ToolCosts};

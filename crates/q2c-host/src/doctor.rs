//! The doctor: tells what this machine can and cannot do, why, and the exact line that would change
//! it.
//!
//! Checks only read; [`FixPlan::apply`] changes what they found wanting. Each group of checks has a
//! file, and each check a line in the `REGISTRY`. A check that does not apply, because no target is
//! named or the hardware is not there, is left out of the report.

mod abilities;
mod build;
mod cpu;
mod facts;
mod finding;
mod fix;
mod idle;
mod irq;
mod kernel;
mod numa;
mod nvme;
mod queue;
mod registry;
mod remedy;
mod target;
mod thermal;
mod tool;
mod uses;

pub use abilities::{Ability, MachineAbilities, MakerAbility};
pub use facts::{DoctorFacts, RingProbe, ToolCosts};
pub use fix::{FixPlan, plan};
pub use registry::run;
pub use uses::by_use;

//! The doctor: tells what this machine can and cannot do, why, and the exact line that would change
//! it.
//!
//! Checks only read; [`FixPlan::apply`] changes what they found wanting. Each group of checks has a
//! file, and each check a line in the `REGISTRY`. A check that does not apply, because no target is
//! named or the hardware is not there, is left out of the report.

mod abilities;
mod cpu;
mod facts;
mod finding;
mod fix;
mod irq;
mod kernel;
mod queue;
mod registry;
mod target;
mod thermal;
mod tool;

pub use abilities::{Ability, MachineAbilities, MakerAbility};
pub use facts::{DoctorFacts, RingProbe, ToolCosts};
pub use fix::{FixPlan, plan};
pub use registry::{by_use, run};

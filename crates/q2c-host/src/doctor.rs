//! The doctor: reports what this machine can and cannot do, why, and the command that would change
//! it.
//!
//! Checks only read; [`FixPlan::apply`] changes the settings that they found unfit. Each group of
//! checks has a file, and each check a line in the `REGISTRY`. A check that does not apply, for
//! want of a target or of the hardware, is left out of the report.

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
pub use registry::{check, run, sort_by_use};

//! Experiments from files: phases over time with background jobs that come and go, beside what was published.

mod file;
mod plan;
mod result;

pub use file::{Experiment, ExperimentError, PhaseSpec, Published};
pub use plan::PhasePlan;
pub use result::{PhaseOutcome, PhaseTrial, ReproduceCell, ReproduceResult, table};

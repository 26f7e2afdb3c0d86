//! Published experiments from files: phases in time in which background jobs come and go, shown
//! beside the published figures.

mod file;
mod plan;
mod result;

pub use file::{Experiment, ExperimentError, PhaseSpec, Published};
pub use plan::PhasePlan;
pub use result::{result, table};

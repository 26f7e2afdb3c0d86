//! Studies without a device: recorded latencies are simulated with many sleep rules.

mod answer;
mod lanes;
mod notes;
mod sim;
mod source;
mod sweep;

pub use lanes::{Holding, LaneFile, NewFile};
pub use sim::Simulation;
pub use source::{SourceError, SourceOptions, Trace, read};
pub use sweep::{Study, StudyError};

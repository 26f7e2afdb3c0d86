//! I/O engines and completion methods: the loop that does the I/O, sleeps, and records.
//!
//! [`run`] takes a [`RunPlan`] (lanes, phases, one start) and gives back every lane's samples.

pub mod engine;
pub mod engines;
pub mod floor;
mod lane;
pub mod measure;
mod pattern;
mod run;
mod sample;

pub use engines::{EngineSpec, Medium};
pub use lane::Wait;
pub use pattern::{Offsets, Pattern};
pub use run::{
    Activity, JobPlan, LaneData, Mark, Observer, PhaseData, RunData, RunError, RunPlan, run,
};
pub use sample::{Fault, Sample};

//! I/O engines and completion methods: the loop that does the I/O, sleeps, and records.
//!
//! [`run()`] takes a [`RunPlan`] (lanes, phases, one start) and returns every lane's samples.
//! [`live()`] runs without a planned end and hands the samples over while it runs.

pub mod engine;
pub mod engines;
pub mod floor;
mod lane;
pub mod measure;
mod pattern;
mod rest;
mod run;
mod sample;
mod sleeps;
pub mod spdk;
pub mod start;
mod tally;
mod time;
mod world;

pub use engines::{EngineSpec, Medium};
pub use pattern::Pattern;
pub use q2c_policy::Wait;
pub use q2c_service::SimMachine;
pub use run::{
    Activity, JobPlan, LaneData, Live, LiveAnswer, LivePlan, LiveSlice, Mark, Observer, PhaseData,
    RunData, RunError, RunPlan, live, run,
};
pub use sample::{FailedIo, Sample};
pub use sleeps::SleepCounts;
pub use tally::IoTally;
pub use time::TimeSource;
pub use world::{Counters, SimCpuCounters, World};

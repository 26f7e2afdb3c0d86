//! I/O engines and completion methods: the loop that does the I/O, sleeps, and records.
//!
//! [`run()`] takes a [`RunPlan`] (lanes, phases, one start) and returns every lane's samples.
//! [`live()`] runs without a planned end and hands the samples over while it runs.

pub mod engine;
pub mod engines;
pub mod floor;
mod lane;
pub mod measure;
mod offsets;
mod run;
mod sample;
pub mod spdk;
pub mod start;
mod tally;
mod time;
mod world;

pub use engines::{EngineSpec, Medium};
pub use q2c_model::Pattern;
pub use q2c_policy::Wait;
pub use q2c_service::{IrqPlacement, SimInterface, SimMachine};
pub use run::thread::Meeting;
pub use run::{
    Activity, JobPlan, LaneData, Live, LiveAnswer, LivePlan, LiveSlice, Mark, PhaseData, RunData,
    RunError, RunPlan, live, run,
};
pub use sample::{FailedIo, Sample};
pub use tally::{IoTally, KindTallies, SleepCounts};
pub use time::{LaneStep, Real, Time, TimeSource};
pub use world::{Counters, SimCpuCounters, SimulatedThread, ThreadBody, World, run_in_world};

use engine::{Engine, EngineError, EngineFacts, Operation, Request, RingCompletion, Waits};
use lane::EngineLane;

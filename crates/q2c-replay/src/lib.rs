//! Replays a trace on files, devices or simulated devices.
//!
//! There are three modes. **Timed**: each request goes at its recorded time, whatever happened to
//! earlier requests. **Outstanding**: each request goes as soon as the previous one has been
//! submitted and no more is in flight on its device than was before it in the trace. **Closed**:
//! each lane of the trace submits its next request a recorded think time after the completion of
//! its last one.
//!
//! The order of calls: [`prepare`] reads the trace once and finds its devices, its length and its
//! needs. [`replay()`] then streams it. A reader decodes, maps and schedules the requests (module
//! `feed`). Submitting threads wait for each request's moment, submit, reap and count (module
//! `worker`). [`ReplayPlan::in_flight`] and the queues between the threads bound the memory,
//! whatever the trace holds.
#![forbid(unsafe_code)]

mod error;
mod facts;
mod feed;
mod gate;
mod map;
mod order;
mod outcome;
mod plan;
mod record;
mod run;
mod selection;
mod time;
mod windows;
mod worker;

pub use error::ReplayError;
pub use facts::{ReplayFacts, TraceDevice, prepare};
pub use map::Permits;
pub use outcome::{ReplayCounts, ReplayOutcome, WindowSum};
pub use plan::{ReplayPlan, ReplayTarget, check_keeps_schedule};
pub use q2c_model::replay::{
    Change, Changes, Count, Discards, Fit, Idle, LaneBy, Mode, OnError, ShareBy, Writes,
};
pub use run::{RecordTo, avoid_submitter_cpus, check, has_spare_cpus, replay};
pub use selection::ReplaySelection;

use gate::{GateRule, ScheduledIo, TargetIo};
use record::RowSender;
use run::Shared;
use time::ThreadClock;
use windows::WindowSeries;

#[cfg(test)]
mod tests;

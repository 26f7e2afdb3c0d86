//! Replays a trace on files, devices or simulated devices.
//!
//! There are three modes. **Timed**: each request goes at its recorded time, whatever became of
//! those before it. **Outstanding**: each request goes as soon as the one before it has been
//! submitted and no more is in flight on its device than was before it in the trace. **Closed**:
//! each lane of the trace submits its next request a recorded think time after its last one has
//! completed.
//!
//! The order of calls: [`prepare`] reads the trace once and finds its devices, its length and what
//! it asks for. [`replay()`] then streams it. A reader decodes, maps and schedules the requests
//! (module `feed`); submitting threads wait for each request's moment, submit, reap and count
//! (module `worker`). Memory is bounded by [`ReplayPlan::in_flight`] and by the queues between the
//! threads, whatever the trace holds.
#![forbid(unsafe_code)]

mod calls;
mod counts;
mod error;
mod facts;
mod feed;
mod gate;
mod io;
mod map;
mod order;
mod outcome;
mod plan;
mod profile;
mod record;
mod run;
mod schedule;
mod shared;
mod time;
mod wanted;
mod windows;
mod worker;

pub use counts::ReplayCounts;
pub use error::ReplayError;
pub use facts::{ReplayFacts, TraceDevice, prepare};
pub use map::Permits;
pub use outcome::{ReplayOutcome, WindowSum};
pub use plan::{ReplayPlan, ReplayTarget};
pub use q2c_model::replay::{
    Change, Changes, Count, Discards, Fit, Idle, LaneBy, Mode, OnError, ShareBy, Writes,
};
pub use run::{RecordTo, check, leave, replay, spare_cpus};
pub use schedule::keeps_schedule;
pub use wanted::ReplaySelection;

use gate::GateRule;
use io::{ScheduledIo, TargetIo};
use record::RowSender;
use shared::Shared;
use time::ThreadClock;
use windows::WindowSeries;

#[cfg(test)]
mod tests;

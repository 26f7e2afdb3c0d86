//! The polling simulator: closed and open loop, calibrated costs, sweeps, the Pareto front and the
//! oracle.
//!
//! A rule sees only the observed time, `max(latency, sleep + wake delay)`, as it would live; the
//! device's own time is known to the [`Oracle`](Method::Oracle) alone. Recordings must come from
//! classic polling, because those of sleeping methods contain their own oversleep.

pub mod answers;
mod batch;
mod choice;
mod closed;
mod column;
mod outcome;
mod pareto;
mod recording;
mod sweep;
mod timeline;
mod waiting;

pub use batch::{Batch, BatchError};
pub use choice::{Choice, Limits, MinIops, Objective, ParseMinIopsError, choose};
pub use closed::{Arrival, Drive, simulate, simulate_with};
pub use column::{Column, Kept};
pub use outcome::Outcome;
pub use pareto::pareto_front;
pub use recording::{Packed, Recording, RecordingError, Recordings, pack, unpack};
pub use sweep::{Configuration, Grid, SweepCell, sweep};
pub use timeline::{Moment, timeline};
pub use waiting::Waiting;

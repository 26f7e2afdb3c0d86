//! The polling simulator: closed and open loop, calibrated costs, sweeps, the Pareto front and the
//! oracle.
//!
//! A rule sees only the observed time, `max(latency, sleep + wake delay)`, as in live runs; only
//! the [`Oracle`](Waiting::Oracle) knows the device's own time. User-layer recordings must come
//! from classic polling, because those of sleeping methods contain their own oversleep. Traces of
//! the block layer become lanes of depth 1 through [`Recordings`].
//!
//! # Example
//! On a device that takes 50 us, a rule always sleeps 30 us, and wake-ups are 5 us late: no sleep
//! outlives its I/O.
//! ```
//! use q2c_model::{CostModel, Direction, Nanos};
//! use q2c_policy::{Io, LaneMethod};
//! use q2c_sim::{Drive, LaneRecording, Waiting, simulate};
//!
//! let io = Io { direction: Direction::Read, bytes: 4096 };
//! let mut lane = LaneRecording::default();
//! for _ in 0..1_000 {
//!     // Submission, device time, think time, ns.
//!     lane.push(io, 2_000.0, 50_000.0, 0.0);
//! }
//! let rule: LaneMethod = "hybrid:fixed:30us".parse()?;
//! let cost = CostModel::delayed(Nanos(5_000));
//! let outcome = simulate(&[lane], &cost, Waiting::from_method(&rule, 1), Drive::one_pass(1));
//! assert_eq!((outcome.ios, outcome.gives.rates.miss_rate), (1_000, 0.0));
//! assert_eq!(outcome.gives.rates.effective_sleep_ns, 30_000.0);
//! # Ok::<(), q2c_policy::ParseMethodError>(())
//! ```

pub mod answers;
mod batch;
mod choice;
mod column;
mod dealing;
mod outcome;
mod recording;
mod recordings;
mod reference;
mod sweep;
mod sweep_state;
mod timeline;
mod turns;

pub use batch::Batch;
pub use choice::{
    Choice, Limits, MinIops, Objective, best_cell, choose, nearest_cell, pareto_front,
    pareto_front_of, score, scores,
};
pub use column::{ExternalValues, IoColumn};
pub use outcome::SimOutcome;
pub use recording::{LaneRecording, PackedIo, RecordingError, unpack};
pub use recordings::{LaneSelection, Recordings, TraceOptions};
pub use reference::{Arrival, Drive, Waiting, simulate, simulate_with};
pub use sweep::{Bounds, Configuration, ThreadsError, standard_grid, start_threads, sweep};
pub use sweep_state::{ResumableSweep, VolumeOutcomes};
pub use timeline::{TimelineIo, timeline};

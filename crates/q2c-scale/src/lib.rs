//! A model beyond this machine: throughput at more cores than were measured, where scaling ends,
//! and by which resource.
//!
//! A [machine](machine::Machine) is a closed queueing network: jobs on cores, a lock or a cache
//! line that all jobs share, hardware queues with a limited number of requests, and a device. Its
//! parameters follow from [a measured curve](run) and the stages of its I/Os, or are
//! [given](parameters). The network is [solved exactly](network) where its times are exponential;
//! a [lock](handover) that takes longer the more jobs wait for it makes throughput fall.
//!
//! What the measured points do not show is not guessed: see [`Answer`](q2c_result::scale::Answer).

mod answer;
pub mod evidence;
mod fit;
pub mod handover;
pub mod machine;
pub mod network;
pub mod parameters;
pub mod predict;
pub mod run;

pub use answer::{ScaleRequest, predict};

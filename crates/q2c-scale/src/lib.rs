//! A model beyond this machine: the throughput with more cores than were measured, and where and by
//! which resource scaling ends.
//!
//! A [machine](machine::MachineModel) is a closed queueing network: jobs on cores, a lock or a
//! cache line shared by all jobs, hardware queues with a limited number of requests, and a device.
//! Its parameters come from [a measured curve](run) and the stages of its I/Os, or are
//! [given](parameters). The network is [solved exactly](network) if its times are exponential. A
//! [lock](handover) that takes longer with each waiting job makes throughput fall.
//!
//! Nothing is guessed beyond what the points show: see [`Answer`](q2c_result::scale::Answer).

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

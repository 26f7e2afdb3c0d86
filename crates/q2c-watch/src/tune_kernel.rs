//! Closes the loop of the kernel's own hybrid polling (Linux 5.8 to 5.18). It records a device's
//! latencies while the user's load polls it, and simulates sleep rules on them. Then it lets the
//! kernel sleep by the best rule that it can follow, and compares what the kernel did with the
//! prediction.
//!
//! Latencies are those of the block layer, from the hand-over to the driver to the completion
//! (D2C). They are recorded under classic polling. All probes are attached before the first phase
//! and stay until the end, so every method pays the same for them.

mod calibrate;
mod conclude;
mod lanes;
mod rig;
mod tune;

pub use rig::Rig;
pub use tune::{TuneKernel, TuneKernelSpec};

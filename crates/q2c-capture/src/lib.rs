//! BPF probes of the block layer. Each probe has a folder in `probes/` with its program in C,
//! compiled by `build.rs`. A module here loads the program, attaches it and reads what it counted.
//!
//! Fields of kernel types are read at the offsets that the running kernel's own type information
//! (BTF) gives. A missing permission or kernel feature is named before anything is loaded. Dropping
//! a probe's value removes the probe from the kernel. It goes also when the process is killed,
//! because the kernel drops a program with its last file descriptor.
#![forbid(unsafe_code)]

mod collector;
mod counts;
pub mod cpu_profile;
mod description;
mod error;
mod filter;
mod follow;
mod object;
mod permission;
mod recorder;
mod symbols;

pub mod block_io;
pub mod kernel_hybrid;
pub mod latency;
pub mod lock_waits;
pub mod polls;
pub mod tag_waits;
pub mod tracefs;

pub use collector::{Collected, Collector};
pub use description::{Description, queue_facts};
pub use error::ProbeError;
pub use filter::{CaptureFilter, CaptureTarget, MAX_DISKS};
pub use follow::{EndedRecording, Follower, Following, Gatherer, Pace};
pub use q2c_result::replay::CapturedBy;
pub use recorder::{Missing, Recorder};

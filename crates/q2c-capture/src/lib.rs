//! BPF probes of the block layer, one folder each in `probes/`: the program in C, compiled by `build.rs`, and here the
//! Rust that loads it, attaches it and reads what it counted.
//!
//! Kernel types are read at the places that the running kernel's own type information (BTF) gives. What is
//! missing, a permission or a feature of the kernel, is named before anything is loaded. Probes are gone with their value, also
//! when the process is killed: the kernel drops them with its last file descriptor.
#![forbid(unsafe_code)]

mod error;
mod missing;
mod object;
mod permission;
mod recorder;
mod rings;
mod symbols;
mod wanted;

pub mod block_io;
pub mod kernel_hybrid;
pub mod latency;
pub mod tracefs;

pub use error::ProbeError;
pub use missing::Missing;
pub use recorder::{By, Recorder};
pub use rings::Drained;
pub use wanted::{IN_FLIGHT, Wanted};

//! The engines, one file each, and their registry.

mod command;
mod fault;
mod libaio;
mod memory;
mod null;
mod pvsync2;
mod sim;
mod spec;
mod uring;

pub use fault::FaultKind;
pub use memory::{Memory, SharedBuffers};
pub use sim::{Service, SimSpec};
pub use spec::{ENGINES, EngineKind, EngineSpec, Medium, ParseEngineError};
// Types of q2c-sys that hold the options of engines.
pub use q2c_sys::aio::ReapFrom;
pub use q2c_sys::{RingOptions, SqPoll, TaskRun, VectoredFlags};

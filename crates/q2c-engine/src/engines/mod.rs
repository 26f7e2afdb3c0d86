//! The engines, one file each, and their registry.

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
pub use sim::{ReadTimes, Service, SimCapture, SimDevice, SimDevices, SimRequest, SimSpec};
pub use spec::{
    ENGINES, EngineKind, EngineSpec, Medium, ParseEngineError, RingKind, behind_interface,
};
// Types of other crates that hold the options of engines.
pub use q2c_service::{RecordedTimes, ServiceTimes};
pub use q2c_sys::aio::ReapFrom;
pub use q2c_sys::{RingOptions, SqPoll, TaskRun, VectoredFlags};

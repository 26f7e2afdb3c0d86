//! The engines, one file each, and their registry.

mod fault;
mod null;
mod sim;
mod spec;
mod uring;

pub use fault::FaultKind;
pub use sim::{Service, SimSpec};
pub use spec::{ENGINES, EngineKind, EngineSpec, Medium, ParseEngineError};

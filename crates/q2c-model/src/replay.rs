//! The options of a replay of a trace, and the changes that it may make in the trace's requests.
//! Typed values, plans and results have these types.

mod change;
mod mode;
mod options;

pub use change::{Change, Changes};
pub use mode::Mode;
pub use options::{Count, Discards, Fit, Idle, LaneBy, OnError, ParseValueError, ShareBy, Writes};

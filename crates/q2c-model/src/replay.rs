//! What a replay of a trace may change in its requests.

mod change;

pub use change::{Change, Changes};

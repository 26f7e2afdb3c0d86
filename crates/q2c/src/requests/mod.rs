//! From the arguments as they were typed ([`crate::args`]) to the requests of the libraries: one
//! file for each command whose arguments are more than values for a library's fields. Nothing is
//! opened or run here.

pub mod bench;
pub mod poll;
pub mod replay;
pub mod tune;
pub mod tuned;
pub mod watch;
pub mod workload;

/// What would take longer than this, seconds, and need not, is refused without `--yes`.
pub const LONG_S: f64 = 120.0;

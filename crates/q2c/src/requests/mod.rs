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

pub use q2c_study::LONG_S;

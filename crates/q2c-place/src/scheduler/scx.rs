//! The sched_ext scheduler (`scx/q2c.bpf.c`): the same predictor and rules, in the kernel.
//!
//! The scheduler is in force as long as a [`Scheduler`] lives. When the value is dropped, the
//! process ends in whatever way, or the kernel finds fault with the scheduler, all tasks go back to
//! the kernel's own scheduler.

mod error;
#[cfg(feature = "scx")]
mod loader;
#[cfg(feature = "scx")]
mod log;
mod report;
#[cfg(any(feature = "scx", test))]
mod settings;
mod support;

pub use error::ScxError;
#[cfg(feature = "scx")]
pub use loader::Scheduler;
pub use report::{Ended, Report};
pub use support::{check, in_force};

/// The name under which the kernel shows the scheduler.
pub const NAME: &str = "q2c";

//! The daemon that runs a sleep rule of q2c by the kernel's own hybrid polling. It follows the
//! latencies of a device, and writes the rule's sleep for each window to `queue/io_poll_delay`
//! (Linux 5.8 to 5.18).
//!
//! The file takes whole microseconds and one value per device, so requests of all sizes and both
//! directions make one window. 0 would mean the kernel's own rule, so a sleep is at least 1 us; -1
//! means no sleep, which is classic polling. The latencies are those of the block layer, from the
//! hand-over to the driver to the completion. They contain oversleep, as the kernel's own
//! statistics do.

mod daemon;
mod log;
mod poll_delay;
mod steering;

pub use daemon::{Daemon, Pulse, SteerSource};
pub use log::Log;
pub use poll_delay::PollDelayGuard;
pub use steering::Steering;

pub(crate) use daemon::look_interval;
#[cfg(test)]
pub(crate) use steering::polled_read;
pub(crate) use steering::{ANY_REQUEST, kernel_class};

//! A sleep rule of q2c's run by the kernel's own hybrid polling: a daemon that follows a device's latencies, and writes what the
//! rule makes of each window to `queue/io_poll_delay` (Linux 5.8 to 5.18).
//!
//! The file takes whole microseconds and one value per device: requests of all sizes and both directions make one window. 0 would
//! mean the kernel's own rule, so a sleep is at least 1 us; no sleep is -1, classic polling. Latencies are those of the block layer,
//! from the hand-over to the driver to the completion, oversleep included, as in the kernel's own statistics.

mod daemon;
mod log;
mod steering;

pub use daemon::{Daemon, Pulse, SteerError};
pub use log::{Entry, Log};
pub use steering::{Steering, Unfit, delay_of};

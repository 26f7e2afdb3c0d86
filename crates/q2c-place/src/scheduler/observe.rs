//! Which tasks of the machine are active, and which of them poll.
//!
//! A window at a time, every thread's CPU time is read. For each thread that was active the
//! [predictor](crate::predictor) takes in whether it polled in the window. In this order of
//! trust: a hint of the user's, the kernel's poll functions, the name of an io_uring submission
//! thread, the names of well-known pollers. Few instructions per cycle say nothing: a loop without
//! PAUSE has many.

mod window;

pub use window::{TaskObserver, window_of};

use crate::predictor::Class;
use q2c_host::tasks::Thread;
use q2c_model::CpuId;
use q2c_result::place_watch::{SeenBy, Stays};

/// A thread that was active in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// The thread.
    pub thread: Thread,
    /// Share of one CPU that it used, 0 to 1.
    pub share: f64,
    /// The predictor's class, or that of a hint.
    pub class: Class,
    /// How the class is known.
    pub by: SeenBy,
    /// The CPUs that it may run on.
    pub allowed: Vec<CpuId>,
    /// Why it must stay where it is; `None` when it may be moved.
    pub stays: Option<Stays>,
}

#[cfg(test)]
mod tests;

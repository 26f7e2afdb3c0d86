//! The result of `q2c poll watch --kernel --json`: schema `q2c.kernel-watch/1`.

use crate::{Device, Machine};
use q2c_model::Rates;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.kernel-watch/1";
/// The schema of its lines before the summary, which hold a [`KernelInterval`].
pub const LINE_SCHEMA: &str = "q2c.kernel-watch-interval/1";

/// The kernel's own hybrid polling of a device, as seen while any program used the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelWatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// `asked` (time over, or nobody reads), `signal`, or `gone` (the device went away).
    pub ended: String,
    /// Machine facts.
    pub machine: Machine,
    /// Facts of the device.
    pub device: Device,
    /// All intervals as one, those that were not kept included; `None` when there was none.
    pub total: Option<KernelInterval>,
    /// The intervals in order of time.
    pub intervals: Vec<KernelInterval>,
    /// Number of intervals before the kept ones that were not kept.
    pub not_kept: u64,
}

/// One interval. A polled request is counted in the interval in which it completes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelInterval {
    /// End of the interval, seconds from the start.
    pub end_s: f64,
    /// Length of the interval, seconds.
    pub length_s: f64,
    /// `queue/io_poll_delay` at the end, us: -1 classic polling, 0 the kernel's own sleep.
    pub io_poll_delay: Option<i64>,
    /// Polled requests that completed.
    pub polled: u64,
    /// Polled requests for which a thread slept first.
    pub slept: u64,
    /// Requests that were complete by the end of the first poll after their sleep: misses.
    pub missed: u64,
    /// Requests that were slept for, but of which it is not known whether they were missed.
    pub unknown: u64,
    /// Polled requests per second; CPU of the threads that polled throughout; misses and sleeps
    /// asked per polled request.
    #[serde(flatten)]
    pub rates: Rates<Option<f64>>,
    /// Mean sleep asked over the requests that were slept for, ns; `None` when there was none.
    pub asked_ns: Option<f64>,
    /// Mean time from timer start to the next poll, ns; `None` when none was seen to its end.
    pub slept_ns: Option<f64>,
    /// Threads that polled and were there at both ends; in the total, the most of any interval.
    pub threads: u64,
    /// Busy CPUs of the whole machine; `None` when they are not known.
    pub busy_cpus: Option<f64>,
    /// CPU of q2c, percent of one; the probes' is part of the interrupted threads'.
    pub own_cpu_pct: f64,
}

//! The result of `q2c poll watch --kernel --json`: schema `q2c.kernel-watch/1`.

use crate::{Device, Machine};
use q2c_model::Rates;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.kernel-watch/1";
/// The schema of the lines before the summary, each of which holds a [`KernelInterval`].
pub const LINE_SCHEMA: &str = "q2c.kernel-watch-interval/1";

/// The kernel's own hybrid polling of a device, as seen while any program used the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelWatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Why the watch ended: `asked` (time over, or no reader), `signal`, `gone` (device removed).
    pub ended: String,
    /// Machine facts.
    pub machine: Machine,
    /// Facts of the device.
    pub device: Device,
    /// All intervals as one, including those that were not kept; `None` if there was none.
    pub total: Option<KernelInterval>,
    /// The intervals in order of time.
    pub intervals: Vec<KernelInterval>,
    /// Number of early intervals that were dropped; `intervals` has the later ones.
    pub not_kept: u64,
}

/// One interval. A polled request is counted in the interval in which it completes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelInterval {
    /// End of the interval, seconds from the start.
    pub end_s: f64,
    /// Length of the interval, seconds.
    pub length_s: f64,
    /// `queue/io_poll_delay` at the end, us: -1 is classic polling, 0 the kernel's own sleep.
    pub io_poll_delay: Option<i64>,
    /// Polled requests that completed.
    pub polled: u64,
    /// Polled requests for which a thread slept first.
    pub slept: u64,
    /// Misses: requests that were complete by the end of the first poll after their sleep.
    pub missed: u64,
    /// Requests with a sleep of which it is unknown whether they were missed.
    pub unknown: u64,
    /// Polled requests per second, CPU of the threads that polled in the whole interval, and misses
    /// and sleep asked per polled request.
    #[serde(flatten)]
    pub rates: Rates<Option<f64>>,
    /// Mean sleep asked over the requests with a sleep, ns; `None` without one.
    pub asked_ns: Option<f64>,
    /// Mean time from the timer's start to the next poll, ns; `None` if none was seen completely.
    pub slept_ns: Option<f64>,
    /// Threads that polled and lived through the interval; in the total, the largest such number.
    pub threads: u64,
    /// Busy CPUs of the whole machine; `None` if unknown.
    pub busy_cpus: Option<f64>,
    /// CPU of q2c, percent of one CPU; the probes' CPU time counts for the threads they interrupt.
    pub own_cpu_pct: f64,
}

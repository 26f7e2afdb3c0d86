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
    /// How it ended: `asked` (its time was over, or its output was no longer read), `signal`, or
    /// `gone` (the device went away).
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
    /// `queue/io_poll_delay` at the end of the interval: -1 classic polling, 0 the kernel's own
    /// sleep, else microseconds; `None` when it could not be read.
    pub io_poll_delay: Option<i64>,
    /// Polled requests that completed.
    pub polled: u64,
    /// Polled requests for which a thread slept first.
    pub slept: u64,
    /// Requests that were complete by the end of the first poll after their sleep: misses.
    pub missed: u64,
    /// Requests that were slept for, but of which it is not known whether they were missed.
    pub unknown: u64,
    /// Polled requests per second; the CPU time of the threads that polled the device and were
    /// there at both ends of the interval (`None` without one); misses and sleeps asked per polled
    /// request (`None` without a polled request).
    #[serde(flatten)]
    pub rates: Rates<Option<f64>>,
    /// Mean sleep asked over the requests that were slept for, ns; `None` when there was none.
    pub asked_ns: Option<f64>,
    /// Mean sleep from the timer's start to the next call of the poll function, ns; `None` when no
    /// sleep was seen to its end.
    pub slept_ns: Option<f64>,
    /// Number of threads that polled the device and were there at both ends of the interval; in the
    /// total, the most of any interval.
    pub threads: u64,
    /// Busy CPUs of the whole machine; `None` when they are not known.
    pub busy_cpus: Option<f64>,
    /// CPU time of q2c itself, percent of one CPU. The CPU time of the probes is part of that of
    /// the threads that they interrupt.
    pub own_cpu_pct: f64,
}

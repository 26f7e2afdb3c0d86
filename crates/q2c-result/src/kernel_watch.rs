//! The result of `q2c poll watch --kernel --json`: schema `q2c.kernel-watch/1`.

use crate::{Device, Machine};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.kernel-watch/1";

/// What the kernel's own hybrid polling of a device did, whoever used it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelWatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// How it ended: `asked` (its time was over, or nobody read on), `signal`, or `gone`: the device went away.
    pub ended: String,
    /// Machine facts.
    pub machine: Machine,
    /// The device.
    pub device: Device,
    /// All intervals as one, those not kept included; `None` when there was none.
    pub total: Option<KernelInterval>,
    /// The intervals, in their order.
    pub intervals: Vec<KernelInterval>,
    /// Intervals before these that were not kept.
    pub not_kept: u64,
}

/// One interval: what is counted when a polled request completes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelInterval {
    /// Its end, seconds from the start.
    pub end_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// `queue/io_poll_delay` at its end: -1 classic polling, 0 the kernel's own sleep, else microseconds.
    pub io_poll_delay: Option<i64>,
    /// Polled requests that completed.
    pub polled: u64,
    /// Of them slept for.
    pub slept: u64,
    /// Slept for and complete by the end of the first poll after.
    pub missed: u64,
    /// Slept for; not known whether missed.
    pub unknown: u64,
    /// Polled requests per second.
    pub iops: f64,
    /// Misses / polled requests, 0..1; `None` without any.
    pub miss_rate: Option<f64>,
    /// Sum of sleeps asked / polled requests, ns; `None` likewise.
    pub effective_sleep_ns: Option<f64>,
    /// Mean sleep asked over the requests that were slept for, ns; `None` when none was.
    pub asked_ns: Option<f64>,
    /// Mean sleep from the timer's start to the next call of the poll function, ns; `None` likewise.
    pub slept_ns: Option<f64>,
    /// Threads that polled the device and were there at both ends; in the total, the most of an interval.
    pub threads: u64,
    /// Their CPU, percent of one CPU each; `None` without any.
    pub cpu_pct: Option<f64>,
    /// Busy CPUs of the whole machine; `None` when not known.
    pub busy_cpus: Option<f64>,
    /// CPU of q2c itself, percent of one CPU. The probes' own is in the threads' that they stop.
    pub own_cpu_pct: f64,
}

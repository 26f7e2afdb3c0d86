//! The result of `q2c poll watch --json`: schema `q2c.watch/2`.

use crate::late::{LateMisses, LateNumbers, LateWatch};
use crate::live::LatencyCounts;
use crate::mode::WaitMode;
use crate::{Machine, Target};
use q2c_model::{Bytes, CpuId, Rates};
use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.watch/2";
/// The schema of the lines before the summary, each of which holds a [`WatchLine`].
pub const LINE_SCHEMA: &str = "q2c.watch-interval/1";

/// The figures of a workload that was watched while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Why the watch ended: `asked` (a key, or time over), `signal`, or `fault: ` and the error.
    pub ended: String,
    /// The job that ran.
    pub job: WatchJob,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// The methods in order of first use. With the background on and off they are separate entries.
    pub methods: Vec<WatchMethod>,
    /// The intervals in order of time.
    pub intervals: Vec<WatchInterval>,
    /// Number of early intervals that were dropped; `methods` leaves them out, too.
    pub not_kept: u64,
    /// The capture of the block layer; `None` if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateWatch>,
}

/// The job that ran, and how it was watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchJob {
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
    /// Block size of the requests.
    pub bs: Bytes,
    /// CPUs of the foreground threads, each with depth 1.
    pub cpus: Vec<CpuId>,
    /// Background jobs in words, one entry each; empty without them.
    pub background: Vec<String>,
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// Seed of the offsets.
    pub seed: u64,
}

/// One method with the background on or off; its figures are medians over settled intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchMethod {
    /// The method that was asked for.
    pub method: Method,
    /// True if the background was on.
    pub background: bool,
    /// The mode that really ran in most intervals; `None` when no interval counts.
    pub was: Option<WaitMode>,
    /// Number of intervals that count.
    pub intervals: u64,
    /// Number of intervals before the rule had settled, which do not count.
    pub settling: u64,
    /// Medians over the intervals that count; `late` has means over their I/Os.
    pub median: Option<WatchNumbers>,
}

impl WatchMethod {
    /// A method without an interval that counts yet.
    pub fn new(method: Method, background: bool) -> Self {
        WatchMethod {
            method,
            background,
            was: None,
            intervals: 0,
            settling: 0,
            median: None,
        }
    }
}

/// One interval of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchInterval {
    /// End of the interval, seconds from the start.
    pub end_s: f64,
    /// Length, seconds; shorter at a change of the method, longer if an I/O outlasted the interval.
    pub length_s: f64,
    /// Index of the method in the result's `methods`; `None` if threads had different methods.
    pub method: Option<usize>,
    /// True if the method had settled: it started at least 250 ms and two window periods ago.
    pub settled: bool,
    /// The mode that really ran.
    pub was: Option<WaitMode>,
    /// Foreground I/Os whose latencies were dropped for lack of memory.
    pub unrecorded: u64,
    /// The figures of the interval.
    #[serde(flatten)]
    pub numbers: WatchNumbers,
    /// The misses; `None` without a capture of the block layer, or without a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<LateMisses>,
}

/// An ended interval as printed, with facts that the result does not keep per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchLine {
    /// The method in force; `None` if threads had different methods.
    pub method_name: Option<Method>,
    /// True if the background should run. `None` without background jobs, or if threads differ.
    pub background: Option<bool>,
    /// The counts from which the figures are computed.
    pub counts: WatchCounts,
    /// Latencies (U2C) of the foreground.
    pub latency: LatencyCounts,
    /// The interval.
    #[serde(flatten)]
    pub interval: WatchInterval,
}

/// Counts of an interval over all foreground threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchCounts {
    /// I/Os that were reaped. Other counts of I/Os, and the latencies, leave out `unrecorded`.
    pub ios: u64,
    /// I/Os that hybrid polling handled.
    pub handled: u64,
    /// I/Os that slept.
    pub slept: u64,
    /// I/Os that were complete when their sleep ended.
    pub misses: u64,
    /// Sum of sleeps asked, ns.
    pub asked_ns: u64,
    /// Sum of sleeps from call to return, ns.
    pub slept_ns: u64,
    /// CPU time of the threads, ns.
    pub cpu_ns: u64,
    /// Interrupts of the device, including the background's; `None` when they could not be read.
    pub interrupts: Option<u64>,
    /// I/Os of the background; `None` without background jobs.
    pub background_ios: Option<u64>,
}

/// The figures of an interval over all foreground threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchNumbers {
    /// Miss rate and effective sleep are `None` when hybrid polling handled no I/O.
    #[serde(flatten)]
    pub rates: Rates<Option<f64>>,
    /// Mean sleep from call to return over the I/Os that slept, ns; `None` when no I/O slept.
    pub slept_ns: Option<f64>,
    /// Median latency (U2C), ns; `None` when no I/O ended.
    pub p50_ns: Option<f64>,
    /// 99th percentile latency (U2C), ns; `None` when no I/O ended.
    pub p99_ns: Option<f64>,
    /// Voluntary context switches per I/O that slept, or per I/O when none slept.
    pub switches_per_io: f64,
    /// Interrupts of the device, including the background's, per foreground I/O.
    pub interrupts_per_io: Option<f64>,
    /// I/Os per second of the background; `None` without background jobs.
    pub background_iops: Option<f64>,
    /// The parts of U2C if captured; over several intervals, the mean over all their I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateNumbers>,
}

//! The result of `q2c poll watch --json`: schema `q2c.watch/2`.

use crate::mode::Mode;
use crate::{Machine, Target};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.watch/2";

/// What was seen while a workload ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// How it ended: `asked` (by a key, or its time was over), `signal`, or `fault: ...` with the I/O that failed.
    pub ended: String,
    /// The job that ran.
    pub job: WatchJob,
    /// Machine facts.
    pub machine: Machine,
    /// Target facts.
    pub target: Target,
    /// A row per method, background on or off apart, in the order of their first use.
    pub methods: Vec<WatchMethod>,
    /// The intervals, in their order.
    pub intervals: Vec<WatchInterval>,
    /// Intervals before these that were not kept; the rows of `methods` do not hold them either.
    pub not_kept: u64,
}

/// The job that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchJob {
    /// Pattern: `randread`, `randwrite`, `read`, `write`.
    pub rw: String,
    /// Block size.
    pub bs: Bytes,
    /// CPUs of the foreground threads, depth 1 each.
    pub cpus: Vec<CpuId>,
    /// Background jobs in words, one entry each; empty for none.
    pub background: Vec<String>,
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// Seed of the offsets.
    pub seed: u64,
}

/// One method, with the background as it was: medians over its settled intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchMethod {
    /// The method.
    pub method: Method,
    /// Whether the background was at work.
    pub background: bool,
    /// What it really was most of the time; empty when no interval counts.
    pub was: Option<Mode>,
    /// Intervals that count.
    pub intervals: u64,
    /// Intervals in which the rule had not settled: they do not count.
    pub settling: u64,
    /// Medians; `None` when no interval counts.
    pub median: Option<WatchNumbers>,
}

impl WatchMethod {
    /// A method without an interval that counts.
    #[must_use]
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

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchInterval {
    /// Its end, seconds from the start.
    pub end_s: f64,
    /// Its length, seconds: shorter where the method changed, longer where an I/O outlasted it.
    pub length_s: f64,
    /// Which of the result's methods; `None` where threads were not of the same one.
    pub method: Option<usize>,
    /// Whether the method had settled: two periods of its windows, 250 ms at least, after it began.
    pub settled: bool,
    /// What the method really was.
    pub was: Option<Mode>,
    /// I/Os of the foreground without a recorded latency: too many for the memory.
    pub unrecorded: u64,
    /// What was measured.
    #[serde(flatten)]
    pub numbers: WatchNumbers,
}

/// What is measured in an interval, all foreground threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchNumbers {
    /// I/Os per second.
    pub iops: f64,
    /// Misses / I/Os handled, 0..1; `None` when hybrid polling handled none.
    pub miss_rate: Option<f64>,
    /// Sum of sleeps asked / I/Os handled, ns; `None` likewise.
    pub effective_sleep_ns: Option<f64>,
    /// Mean sleep from call to return over the I/Os that slept, ns; `None` when none did.
    pub slept_ns: Option<f64>,
    /// Thread CPU, percent of one CPU each.
    pub cpu_pct: f64,
    /// Latency (U2C): median, ns; `None` when no I/O ended.
    pub p50_ns: Option<f64>,
    /// Latency (U2C): 99th percentile, ns; `None` likewise.
    pub p99_ns: Option<f64>,
    /// Voluntary context switches per I/O that slept, or per I/O when none did.
    pub switches_per_io: f64,
    /// I/Os per second of the background; `None` without background jobs.
    pub background_iops: Option<f64>,
}

//! The result of `q2c analyze`: schema `q2c.analyze/1`.

use crate::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.analyze/1";

/// What a trace says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalyzeResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The trace.
    pub input: Input,
    /// Where its times were taken: `block` (Q2C) or `user` (U2C).
    pub layer: String,
    /// I/Os.
    pub requests: u64,
    /// Of them complete.
    pub completed: u64,
    /// Of them completed with an error.
    pub failed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os that went to the driver in a request of their own.
    pub issued: u64,
    /// I/Os carried by another's request.
    pub merged: u64,
    /// I/Os for each request that went to the driver; none without D.
    pub merge_ratio: Option<f64>,
    /// From the first start to the last completion, or the last start where nothing completes, ns.
    pub span_ns: u64,
    /// Events that the source lost.
    pub lost: u64,
    /// Events that fit no I/O, I/Os without an end, lines left out: by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The same by `op`, `size`, `device`, `process`, `cpu`, `hctx`.
    pub groups: BTreeMap<String, Vec<Group>>,
    /// I/Os in flight.
    pub in_flight: InFlight,
    /// Working and idle.
    pub activity: Activity,
    /// Distances between I/Os, by device.
    pub seeks: Vec<Seeks>,
    /// Requests of each hardware queue; empty when the trace does not tell.
    pub hctx: Vec<Hctx>,
    /// How even they are; none without queues.
    pub balance: Option<Balance>,
    /// Requests in use while others waited for one; empty when the trace lacks G.
    pub tags: Vec<Tags>,
    /// Where time goes; none without a completed block-layer I/O.
    pub bottleneck: Option<Bottleneck>,
    /// Latency and load over time.
    pub over_time: Vec<Load>,
    /// Some I/Os one by one.
    pub excerpts: Vec<Excerpt>,
    /// Ways in which this can mislead.
    pub warnings: Vec<Warning>,
}

/// The trace analysed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub path: String,
    /// What recorded it.
    pub source: String,
    /// The clock of its times.
    pub clock: String,
    /// What else it says of itself.
    pub facts: BTreeMap<String, String>,
}

/// A stage's latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageStats {
    /// I/Os that have it.
    pub n: u64,
    /// Smallest, exact.
    pub min_ns: u64,
    /// Mean, exact.
    pub mean_ns: f64,
    /// Largest, exact.
    pub max_ns: u64,
    /// Median, within 0.8 %, as all percentiles.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th.
    pub p99_ns: f64,
    /// 99.9th.
    pub p999_ns: f64,
    /// 99.99th.
    pub p9999_ns: f64,
}

/// The I/Os that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What.
    pub key: String,
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their latencies.
    pub stages: BTreeMap<String, StageStats>,
}

/// I/Os in flight from Q to C. The two sums are equal in every trace, by different ways of counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// Sum of all Q2C, ns.
    pub sum_q2c_ns: u128,
    /// Integral of the number in flight over time, ns.
    pub integral_ns: u128,
    /// Mean over the trace's time.
    pub mean: f64,
    /// Most at once.
    pub most: u64,
}

/// Working and idle, from the first start to the last completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// With an I/O in flight, ns.
    pub active_ns: u64,
    /// Without, ns.
    pub idle_ns: u64,
    /// Pauses of at least [`Activity::PAUSE_NS`].
    pub pauses: u64,
    /// The longest pause of any length, ns.
    pub longest_idle_ns: u64,
}

impl Activity {
    /// From this length on a pause is counted: 100 ms, as btt does.
    pub const PAUSE_NS: u64 = 100_000_000;
}

/// Distances from the end of an I/O to the start of the one queued next on the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seeks {
    /// The device, `major:minor`.
    pub device: String,
    /// Distances.
    pub n: u64,
    /// Of them none: the next I/O began where the last ended.
    pub sequential: u64,
    /// Mean of the lengths, sectors of 512 B.
    pub mean_sectors: f64,
    /// Median of the lengths, sectors, within 0.8 %.
    pub median_sectors: f64,
}

/// A hardware queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hctx {
    /// Its number.
    pub hctx: u32,
    /// Requests.
    pub requests: u64,
    /// Their share, 0..1.
    pub share: f64,
    /// Requests by the CPU that submitted them.
    pub cpus: BTreeMap<u32, u64>,
}

/// How evenly requests are spread over the hardware queues that had any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Queues with requests.
    pub queues: u64,
    /// Standard deviation over mean of the requests per queue.
    pub cv: f64,
    /// Chi-square against equal shares.
    pub chi_square: f64,
    /// Its probability if requests were spread by chance.
    pub p: f64,
    /// `one queue`, `even` (chance explains it, or the deviation is at most 1 %), `nearly even` (at most 10 %), `uneven`.
    pub verdict: String,
}

/// Where time goes between Q and C.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// The stage named.
    pub stage: String,
    /// Its share of the sum of Q2C, 0..1.
    pub share: f64,
    /// What that stage is.
    pub why: String,
    /// By which rule it was named.
    pub rule: String,
    /// Shares of all stages.
    pub shares: BTreeMap<String, f64>,
    /// Shares by the number in flight when an I/O was queued.
    pub over_load: Vec<LoadClass>,
    /// Shares over time.
    pub over_time: Vec<TimeWindow>,
}

/// I/Os queued under a like load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadClass {
    /// In flight when queued, itself included: from.
    pub from: u64,
    /// To, included.
    pub to: u64,
    /// I/Os.
    pub requests: u64,
    /// Mean Q2C, ns.
    pub mean_q2c_ns: f64,
    /// The stage that the rule names.
    pub stage: String,
    /// Shares.
    pub shares: BTreeMap<String, f64>,
}

/// I/Os queued in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeWindow {
    /// From the first start, ns.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// I/Os.
    pub requests: u64,
    /// Mean Q2C, ns.
    pub mean_q2c_ns: f64,
    /// The stage that the rule names.
    pub stage: String,
    /// Shares.
    pub shares: BTreeMap<String, f64>,
}

/// Requests in use (from G to C) of a hardware queue, or of a device whose trace names no queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tags {
    /// The device, `major:minor`.
    pub device: String,
    /// The queue.
    pub hctx: Option<u32>,
    /// Most in use at once.
    pub most: u64,
    /// Sum of Q2G, ns.
    pub q2g_ns: u64,
    /// Of it the waits of I/Os that were queued while the most were in use.
    pub q2g_at_most_ns: u64,
}

/// A window of time with the I/Os queued in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// From the first start, ns.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// I/Os queued.
    pub requests: u64,
    /// In flight, mean over the window.
    pub in_flight: f64,
    /// Their latencies: lower end of a class, ns, and I/Os in it. Four classes to each doubling; an end is at most 25 % above
    /// the one before.
    pub latencies: Vec<(u64, u64)>,
}

/// I/Os that were queued one after another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Which: `start`, `slowest` (around the I/O that took longest), `window` (asked for).
    pub what: String,
    /// In the order in which they were queued.
    pub ios: Vec<ExcerptIo>,
    /// I/Os of the window that found no room.
    pub left_out: u64,
}

/// One I/O. Times from the first start, ns; none where the trace does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExcerptIo {
    /// Its id in the trace.
    pub id: u64,
    /// The device, `major:minor`.
    pub device: String,
    /// What it did.
    pub op: String,
    /// First sector.
    pub sector: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// CPU that queued it.
    pub cpu: Option<u32>,
    /// Hardware queue.
    pub hctx: Option<u32>,
    /// Process.
    pub pid: Option<u32>,
    /// Whether another's request carried it.
    pub merged: bool,
    /// Q.
    pub queue_ns: Option<u64>,
    /// G; M of a merged one.
    pub getrq_ns: Option<u64>,
    /// I.
    pub insert_ns: Option<u64>,
    /// D.
    pub issue_ns: Option<u64>,
    /// C.
    pub complete_ns: Option<u64>,
}

//! The result of `q2c analyze`: schema `q2c.analyze/1`.
//!
//! An analysis made in parts lacks some figures, or has them inexactly; an [`InexactMark`] names
//! each.

use crate::Warning;
use q2c_model::Layer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.analyze/1";

/// The analysis of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalyzeResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Facts of the trace.
    pub input: AnalysisInput,
    /// The layer in which the trace's times were taken.
    pub layer: Layer,
    /// I/Os of the trace.
    pub requests: u64,
    /// I/Os with a completion.
    pub completed: u64,
    /// I/Os that completed with an error.
    pub failed: u64,
    /// Bytes of all I/Os.
    pub bytes: u64,
    /// I/Os that went to the driver in a request of their own.
    pub issued: u64,
    /// I/Os that were merged into the request of another I/O.
    pub merged: u64,
    /// I/Os for each request that went to the driver; `None` when the trace has no D.
    pub merge_ratio: Option<f64>,
    /// From the first start to the last completion, ns; without a completion, to the last start.
    pub span_ns: u64,
    /// Events that the source lost.
    pub lost: u64,
    /// Numbers of events that fit no I/O, of I/Os without an end, and of skipped lines, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// I/Os that no latency includes; `None` if no I/O has Q and C, or outside the block layer.
    pub not_whole: Option<IncompleteIos>,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// Latencies of groups of I/Os, by `op`, `size`, `device`, `process`, `cpu`, `hctx`.
    pub groups: BTreeMap<String, Vec<Group>>,
    /// I/Os in flight.
    pub in_flight: TraceInFlight,
    /// Times with and without an I/O in flight; `None` if a trace in parts cannot show it.
    pub activity: Option<TraceActivity>,
    /// Distances between I/Os on each device, in the order of the device numbers.
    pub seeks: Vec<Seeks>,
    /// Requests of each hardware queue, by its number; empty when the trace names no queues.
    pub hctx: Vec<Hctx>,
    /// Balance over the queues that had requests; `None` when the trace names no queues.
    pub balance: Option<Balance>,
    /// The hardware queues of each device; empty when the trace names no queues.
    pub queues: Vec<DeviceQueues>,
    /// Requests in use while I/Os waited for a request; empty when the trace has no G.
    pub tags: Vec<Tags>,
    /// Where the time goes; `None` without a completed block-layer I/O.
    pub bottleneck: Option<Bottleneck>,
    /// Latency and load over time.
    pub over_time: Vec<Load>,
    /// Reads and writes over time, separately; empty without reads and writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throughput: Vec<Throughput>,
    /// Where reads and writes start over time, for the 8 devices with the lowest numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<OffsetMap>,
    /// Some I/Os one by one.
    pub excerpts: Vec<Excerpt>,
    /// Figures that would differ in an analysis in one pass, because this one was made in parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inexact: Vec<InexactMark>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// I/Os of which some event was seen, but not both Q and C; no latency includes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IncompleteIos {
    /// Number of these I/Os.
    pub ios: u64,
    /// Number of all I/Os: the `ios`, and the I/Os with Q and C.
    pub of: u64,
    /// `ios` / `of`, 0 to 1.
    pub share: f64,
    /// Number of these I/Os by reason; `unmatched` has the reasons as well.
    pub reasons: BTreeMap<String, u64>,
}

/// Facts of the trace that was analysed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalysisInput {
    /// Name of the trace, as the user gave it.
    pub path: String,
    /// The tool that recorded the trace.
    pub source: String,
    /// The clock of the trace's times.
    pub clock: String,
    /// Further facts from the trace's metadata.
    pub facts: BTreeMap<String, String>,
}

/// Latencies of one stage. Percentiles are within 0.8 % (`q2c_model::stats::Histogram::ERROR`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageStats {
    /// I/Os that have this stage.
    pub n: u64,
    /// Smallest latency, exact, ns.
    pub min_ns: u64,
    /// Mean latency, exact, ns.
    pub mean_ns: f64,
    /// Largest latency, exact, ns.
    pub max_ns: u64,
    /// Median.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
    /// 99.99th percentile.
    pub p9999_ns: f64,
}

/// The I/Os that have one property in common, such as the operation or the CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The value that these I/Os share, in words.
    pub key: String,
    /// Number of I/Os.
    pub requests: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// Latencies of these I/Os by stage.
    pub stages: BTreeMap<String, StageStats>,
}

/// I/Os in flight from Q to C. The two sums are counted independently and must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceInFlight {
    /// Sum of all Q2C, ns.
    pub sum_q2c_ns: u128,
    /// Integral of the number in flight over time, ns.
    pub integral_ns: u128,
    /// Mean number over the trace's time; `None` if no I/O has both Q and C.
    pub mean: Option<f64>,
    /// Most I/Os in flight at once; `None` without Q and C, or if parts cannot show it.
    pub most: Option<u64>,
}

/// Times with and without an I/O in flight, from the first start to the last completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceActivity {
    /// Time with an I/O in flight, ns.
    pub active_ns: u64,
    /// Time without an I/O in flight, ns.
    pub idle_ns: u64,
    /// Number of times of at least [`TraceActivity::PAUSE_NS`] without an I/O in flight.
    pub pauses: u64,
    /// The longest time without an I/O in flight, of any length, ns.
    pub longest_idle_ns: u64,
}

impl TraceActivity {
    /// Shortest pause that is counted, ns: 100 ms, as in btt.
    pub const PAUSE_NS: u64 = 100_000_000;
}

/// Distances from the end of an I/O to the start of the one queued next on the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seeks {
    /// The device, `major:minor`.
    pub device: String,
    /// Number of distances.
    pub n: u64,
    /// Distances of 0: the next I/O starts where the last one ended.
    pub sequential: u64,
    /// Mean absolute distance, sectors of 512 B.
    pub mean_sectors: f64,
    /// Median absolute distance, sectors of 512 B, within 0.8 %.
    pub median_sectors: f64,
}

/// The requests of one hardware queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hctx {
    /// Number of the queue.
    pub hctx: u32,
    /// Requests that went through the queue.
    pub requests: u64,
    /// Share of these requests in the requests of all queues, 0..1.
    pub share: f64,
    /// Requests by the CPU that submitted them.
    pub cpus: BTreeMap<u32, u64>,
    /// Share of the requests whose CPUs the device's map gives to this queue; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<f64>,
}

/// The hardware queues of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceQueues {
    /// The device, `major:minor`.
    pub device: String,
    /// Queues of the device during the recording; `None` when the trace does not tell.
    pub queues: Option<u64>,
    /// Requests of any operation.
    pub all: QueueUse,
    /// Reads; `None` when there was none.
    pub reads: Option<QueueUse>,
    /// Writes; `None` when there was none.
    pub writes: Option<QueueUse>,
}

/// How some requests of a device used its hardware queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueUse {
    /// Number of requests.
    pub requests: u64,
    /// The queues by number, with the unused ones if the number of queues is known.
    pub queues: Vec<Hctx>,
    /// Unused queues of the sets that were used; `None` if the number of queues is unknown.
    pub unused: Option<Vec<u32>>,
    /// The sets of the device's queues, if several; each CPU has one queue in each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<QueueSet>,
    /// Balance of the requests over the queues that had a request.
    pub used: Balance,
    /// Balance over all queues, or over the only set in use; `None` if the queues are unknown.
    pub even: Option<Balance>,
    /// How well the requests' queues fit the map from submitting CPUs to queues; `None` if unknown.
    pub map: Option<MapFit>,
    /// Why `map` is not known although the device's map is; `None` otherwise.
    pub no_map: Option<NoMapFit>,
}

/// A set of a device's queues. The device maps each CPU to one queue of the set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueSet {
    /// The queues.
    pub queues: Vec<u32>,
    /// Requests in the set's queues.
    pub requests: u64,
    /// Balance of the requests over these queues; `None` without a request.
    pub even: Option<Balance>,
}

/// How well requests' queues fit the device's map from submitting CPUs to queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapFit {
    /// The smallest share of requests to move until each queue has its expected share, 0..1.
    pub misplaced: f64,
    /// Requests in another queue than the map gives for the CPU that submitted them.
    pub off_map: u64,
    /// The verdict on `misplaced`.
    pub verdict: MapVerdict,
}

/// How closely the requests are spread as the map from CPUs to queues says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapVerdict {
    /// At most 1 % of the requests are misplaced.
    #[default]
    AsMapped,
    /// At most 10 % of the requests are misplaced.
    Nearly,
    /// More than 10 % of the requests are misplaced.
    Otherwise,
}

/// Why requests cannot be compared with a device's map from CPUs to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoMapFit {
    /// The trace does not name the submitting CPUs, or the map lacks them.
    UnknownCpus,
}

/// How evenly requests are spread over some hardware queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Number of queues.
    pub queues: u64,
    /// Standard deviation over mean of the requests per queue.
    pub cv: f64,
    /// Chi-square statistic against equal shares.
    pub chi_square: f64,
    /// Probability of such a chi-square if requests were spread by chance.
    pub p: f64,
    /// `one queue`, `even` (by chance or to 1 %), `nearly even` (to 10 %), `uneven`.
    pub verdict: String,
}

/// The bottleneck: the largest stage before the driver if it has 20 % of Q2C, else D2C.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Name of the stage.
    pub stage: String,
    /// Share of the stage in the sum of Q2C, 0..1.
    pub share: f64,
    /// The meaning of the stage, in words.
    pub why: String,
    /// The rule that named the stage, in words.
    pub rule: String,
    /// Shares of all stages in the sum of Q2C, 0..1.
    pub shares: BTreeMap<String, f64>,
    /// Shares by the I/Os in flight at an I/O's queueing; empty if parts cannot show it.
    pub over_load: Vec<LoadClass>,
    /// Shares over time.
    pub over_time: Vec<TimeWindow>,
}

/// The I/Os that were queued under a similar load: with `from` to `to` I/Os in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadClass {
    /// Smallest number in flight when the I/O was queued, including the I/O.
    pub from: u64,
    /// Largest number in flight when the I/O was queued, including the I/O.
    pub to: u64,
    /// Number of I/Os.
    pub requests: u64,
    /// Mean Q2C, ns.
    pub mean_q2c_ns: f64,
    /// The stage that the rule names for these I/Os.
    pub stage: String,
    /// Shares of the stages in the sum of these I/Os' Q2C, 0..1.
    pub shares: BTreeMap<String, f64>,
}

/// The I/Os that were queued in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeWindow {
    /// Start of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns. Windows start at multiples of their length on the trace's clock;
    /// the first one starts with the trace and so may be shorter.
    pub length_ns: u64,
    /// Number of I/Os.
    pub requests: u64,
    /// Mean Q2C, ns.
    pub mean_q2c_ns: f64,
    /// The stage that the rule names for these I/Os.
    pub stage: String,
    /// Shares of the stages in the sum of these I/Os' Q2C, 0..1.
    pub shares: BTreeMap<String, f64>,
}

/// Requests in use (from G to C) of a hardware queue, or of a device whose trace names no queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tags {
    /// The device, `major:minor`.
    pub device: String,
    /// Number of the queue; `None` when the trace names no queues.
    pub hctx: Option<u32>,
    /// Most requests in use at once.
    pub most: u64,
    /// Sum of Q2G, ns.
    pub q2g_ns: u64,
    /// Part of this sum that belongs to I/Os that were queued while the most requests were in use.
    pub q2g_at_most_ns: u64,
}

/// Latency and load of the I/Os that were queued in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Start of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns. Windows start at multiples of their length on the trace's clock;
    /// the first one starts with the trace and so may be shorter.
    pub length_ns: u64,
    /// I/Os that were queued.
    pub requests: u64,
    /// I/Os in flight, mean over the window.
    pub in_flight: f64,
    /// Pairs of a latency class, by its lower end in ns, four classes per doubling, and its I/Os.
    pub latencies: Vec<(u64, u64)>,
}

/// I/Os that were queued one after another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// `start`, `slowest` (around the slowest I/O), or `window` (as the user asked).
    pub what: String,
    /// The I/Os in the order in which they were queued.
    pub ios: Vec<ExcerptIo>,
    /// Number of I/Os of the window that are left out to keep the excerpt small.
    pub left_out: u64,
}

/// One I/O of an excerpt. Times are ns from the first start; `None` if the trace lacks them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExcerptIo {
    /// Id of the I/O in the trace.
    pub id: u64,
    /// The device, `major:minor`.
    pub device: String,
    /// Name of the operation.
    pub op: String,
    /// First sector.
    pub sector: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// CPU that queued the I/O.
    pub cpu: Option<u32>,
    /// Number of the hardware queue.
    pub hctx: Option<u32>,
    /// Process that queued the I/O.
    pub pid: Option<u32>,
    /// Whether the I/O was merged into the request of another one.
    pub merged: bool,
    /// Time of Q: queued.
    pub queue_ns: Option<u64>,
    /// Time of G: a request was allocated; for a merged I/O the time of M, its merge.
    pub getrq_ns: Option<u64>,
    /// Time of I: inserted into the scheduler.
    pub insert_ns: Option<u64>,
    /// Time of D: issued to the driver.
    pub issue_ns: Option<u64>,
    /// Time of C: complete.
    pub complete_ns: Option<u64>,
}

/// Some I/Os and the data that they move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoVolume {
    /// Number of the I/Os.
    pub ios: u64,
    /// Bytes of the I/Os.
    pub bytes: u64,
}

/// The reads and writes that started in a window of time. I/Os without data are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Start of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns. Windows start at multiples of their length on the trace's clock;
    /// the first one starts with the trace and so may be shorter.
    pub length_ns: u64,
    /// Reads.
    pub reads: IoVolume,
    /// Writes.
    pub writes: IoVolume,
}

/// Where on a device reads and writes start: I/Os by window of time and range of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetMap {
    /// The device, `major:minor`.
    pub device: String,
    /// Bytes of a range, a power of two; range `n` (from 0) starts at byte `n * range_bytes`.
    pub range_bytes: u64,
    /// Windows in which a read or write started; all but the first have the same length.
    pub windows: Vec<OffsetWindow>,
}

/// The reads and the writes of a device that started in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetWindow {
    /// Start of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns.
    pub length_ns: u64,
    /// Pairs of a range's number and the reads that started in the range.
    pub reads: Vec<(u64, u64)>,
    /// Pairs of a range's number and the writes that started in the range.
    pub writes: Vec<(u64, u64)>,
}

impl OffsetMap {
    /// The number of reads and writes in the map.
    pub fn ios(&self) -> u64 {
        let window_ios = |window: &OffsetWindow| {
            let ranges = window.reads.iter().chain(&window.writes);
            ranges.map(|(_, ios)| ios).sum::<u64>()
        };
        self.windows.iter().map(window_ios).sum()
    }
}

/// A figure that is missing or inexact because the trace was analysed in parts or a table was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InexactMark {
    /// The figure.
    pub figure: InexactFigure,
    /// Why the figure is missing or inexact.
    pub reason: InexactReason,
    /// Number of joins of two parts that had this effect.
    pub joins: u64,
}

/// A figure that can be missing or inexact, by its path in [`AnalyzeResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InexactFigure {
    /// `in_flight.most`.
    MostInFlight,
    /// `activity`.
    Activity,
    /// `bottleneck.over_load`.
    OverLoad,
    /// `tags`, and the bottleneck's explanation by them.
    Tags,
    /// `seeks`, and the stage Q2Q or U2U.
    Seeks,
    /// `groups`.
    Groups,
    /// `hctx`, `balance` and `queues`.
    Queues,
    /// `excerpts`.
    Excerpts,
}

/// Why a figure is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InexactReason {
    /// The parts are of several devices and overlap in time. `in_flight.most`, `activity` and
    /// `bottleneck.over_load` are missing, and the excerpt of the slowest I/O covers its part only.
    Devices,
    /// I/Os of an earlier part were in flight longer than the next part remembers its first I/Os.
    LongIo,
    /// I/Os of a later part started before the last I/O of the earlier one.
    Order,
    /// There were more groups, devices or queues than an analysis keeps apart.
    Overflow,
    /// The excerpt of a window has only the I/Os of the first part.
    Window,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parts_do_not_tell_is_null_and_named() {
        let mut result = AnalyzeResult::default();
        result.inexact.push(InexactMark {
            figure: InexactFigure::MostInFlight,
            reason: InexactReason::Devices,
            joins: 1,
        });
        let written = serde_json::to_string(&result).expect("JSON");
        let json = r#""inexact":[{"figure":"most-in-flight","reason":"devices","joins":1}]"#;
        assert!(written.contains(json), "{written}");
        assert!(written.contains(r#""most":null"#) && written.contains(r#""activity":null"#));
        let back: AnalyzeResult = serde_json::from_str(&written).expect("what was written");
        assert_eq!(back, result);
    }
}

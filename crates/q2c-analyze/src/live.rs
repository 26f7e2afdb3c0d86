//! Analyses a running capture at intervals ([`LiveAnalysis`]), or one whose I/Os are all in memory
//! ([`analyze_capture()`]).

use crate::Analyzer;
use crate::recording::complete_queues;
use crate::stage::between;
use q2c_model::stats::Histogram;
use q2c_model::{DevId, Layer};
use q2c_result::analyze::AnalyzeResult;
use q2c_result::live::{LatencyCounts, LiveInterval, ProcessIos};
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::{NONE, NONE_32};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Counts that a capture's recorder keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Approximate number of I/Os in flight now.
    pub in_flight: u64,
    /// I/Os or events lost since the capture began.
    pub lost: u64,
    /// I/Os that completed since the capture began, whose queueing was not seen.
    pub unqueued: u64,
}

/// Analyses a block-layer capture interval by interval. Times are relative to its start.
pub struct LiveAnalysis {
    interval: Duration,
    /// Start of the current interval, and the earliest time at which it can end.
    from: Duration,
    until: Duration,
    whole: IntervalIos,
    /// The I/Os of each disk, with its name; empty if disks are not told apart.
    disks: BTreeMap<DevId, (String, IntervalIos)>,
}

impl LiveAnalysis {
    /// Starts an analysis with the capture. `interval` must be longer than zero.
    pub fn new(interval: Duration) -> Self {
        LiveAnalysis {
            interval,
            from: Duration::ZERO,
            until: interval,
            whole: IntervalIos::default(),
            disks: BTreeMap::new(),
        }
    }

    /// Analyses the I/Os of each of these disks apart, too, if there are several.
    #[must_use]
    pub fn split_by_disk(mut self, disks: impl IntoIterator<Item = (DevId, String)>) -> Self {
        let disks = disks.into_iter();
        let disks = disks.map(|(device, name)| (device, (name, IntervalIos::default())));
        self.disks = disks.collect();
        if self.disks.len() == 1 {
            self.disks.clear();
        }
        self
    }

    /// Takes an I/O that has completed.
    pub fn take(&mut self, io: &RecordedIo) {
        self.whole.take(io);
        if let Some((_, disk)) = self.disks.get_mut(&io.span.device) {
            disk.take(io);
        }
    }

    /// True if the current interval can end at `now`.
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.until
    }

    /// Ends the current interval at `now`. A late end does not delay the ends of later intervals.
    pub fn end_interval(&mut self, now: Duration, recorder: RecorderCounts) -> LiveInterval {
        let span = (now, now.saturating_sub(self.from).as_secs_f64());
        let mut interval = self.whole.end(span, recorder);
        interval.in_flight_now = Some(recorder.in_flight);
        let disks = self.disks.values_mut();
        let disks = disks.map(|(name, disk)| (name.clone(), disk.end(span, recorder)));
        interval.disks = disks.collect();
        self.from = now;
        while self.until <= now {
            self.until += self.interval;
        }
        interval
    }
}

/// The I/Os of an interval, of all disks or of one.
struct IntervalIos {
    analyzer: Analyzer,
    waiting: Vec<Span>,
    completed: u64,
    bytes: u64,
    latencies: Histogram,
    processes: Processes,
}

impl Default for IntervalIos {
    fn default() -> Self {
        IntervalIos {
            analyzer: Analyzer::new(Layer::Block),
            waiting: Vec::new(),
            completed: 0,
            bytes: 0,
            latencies: Histogram::default(),
            processes: Processes::default(),
        }
    }
}

impl IntervalIos {
    /// Most I/Os that wait for analysis, which bounds the memory of a long interval.
    const MAX_WAITING_IOS: usize = 1 << 16;

    fn take(&mut self, io: &RecordedIo) {
        self.completed += 1;
        self.bytes = self.bytes.saturating_add(io.span.bytes);
        match between(io.span.begin_ns, io.span.end_ns) {
            NONE => {}
            q2c => self.latencies.record(q2c),
        }
        self.processes.take(io);
        self.waiting.push(CapturedIo::from(io).span);
        if self.waiting.len() >= Self::MAX_WAITING_IOS {
            self.analyse();
        }
    }

    /// Returns the figures of the interval, and starts the next one.
    fn end(&mut self, (now, seconds): (Duration, f64), recorder: RecorderCounts) -> LiveInterval {
        self.analyse();
        let mut interval = LiveInterval {
            end_s: now.as_secs_f64(),
            length_s: seconds,
            lost: recorder.lost,
            unqueued: recorder.unqueued,
            ..LiveInterval::default()
        };
        if self.completed == 0 {
            return interval;
        }
        let analyzer = std::mem::replace(&mut self.analyzer, Analyzer::new(Layer::Block));
        let result = analyzer.finish(&BTreeMap::new());
        interval.ios = std::mem::take(&mut self.completed);
        interval.bytes = std::mem::take(&mut self.bytes);
        interval.iops = interval.ios as f64 / seconds;
        interval.mib_s = interval.bytes as f64 / f64::from(1 << 20) / seconds;
        interval.in_flight_mean = result.in_flight.sum_q2c_ns as f64 / 1e9 / seconds;
        interval.latency = LatencyCounts::from(&self.latencies);
        (interval.stages, interval.bottleneck) = (result.stages, result.bottleneck);
        (interval.processes, interval.processes_seen) = self.processes.end();
        self.latencies.clear();
        interval
    }

    /// Analyses the waiting I/Os. They came in the order of completion and are sorted by start.
    fn analyse(&mut self) {
        self.waiting.sort_by_key(Span::first_ns);
        self.analyzer.update(&self.waiting);
        self.waiting.clear();
    }
}

/// Number of I/Os and bytes of each process in an interval.
#[derive(Default)]
struct Processes(HashMap<u32, ProcessIos>);

impl Processes {
    fn take(&mut self, io: &RecordedIo) {
        let pid = io.span.pid;
        let process = self.0.entry(pid).or_insert_with(|| ProcessIos {
            pid: (pid != NONE_32).then_some(pid),
            comm: io.name().unwrap_or_default(),
            ..ProcessIos::default()
        });
        process.ios += 1;
        process.bytes = process.bytes.saturating_add(io.span.bytes);
    }

    /// Returns the busiest processes, busiest first, and the number of all. Resets the counts.
    fn end(&mut self) -> (Vec<ProcessIos>, u64) {
        let seen = self.0.len() as u64;
        let mut processes: Vec<ProcessIos> = self.0.drain().map(|(_, process)| process).collect();
        processes.sort_by_key(|process| (Reverse(process.ios), process.pid));
        processes.truncate(LiveInterval::PROCESSES);
        (processes, seen)
    }
}

/// An I/O of a capture, with the thread that queued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIo {
    /// Its `merged_into` tells only whether the I/O was merged into another request.
    pub span: Span,
    /// Id of the thread that queued the I/O.
    pub tid: u32,
}

impl From<&RecordedIo> for CapturedIo {
    fn from(io: &RecordedIo) -> Self {
        // The analysis checks only whether the I/O was merged, so any id will do.
        let merged_into = if io.lead == 0 { NONE } else { 0 };
        CapturedIo {
            span: Span {
                merged_into,
                ..io.span
            },
            tid: io.tid,
        }
    }
}

/// Analyses I/Os of the block layer, in any order. `facts` are the capture's facts and hold the
/// queue maps. The caller adds the result's input and its lost and unmatched events.
pub fn analyze_capture(mut spans: Vec<Span>, facts: &BTreeMap<String, String>) -> AnalyzeResult {
    spans.sort_by_key(Span::first_ns);
    let mut analyzer = Analyzer::new(Layer::Block);
    analyzer.update(&spans);
    let mut result = analyzer.finish(&BTreeMap::new());
    complete_queues(&mut result.queues, facts);
    result
}

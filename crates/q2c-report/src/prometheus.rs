//! Metrics of live views for Prometheus: totals since the start, as a page in the text format
//! 0.0.4. Times are in seconds, and every sample has the label `device`.

use q2c_result::kernel_watch::KernelInterval;
use q2c_result::live::{LatencyCounts, LiveInterval};
use q2c_result::watch::{WatchCounts, WatchLine};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The content type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Totals of the intervals of a live view.
pub trait Metrics {
    /// An interval of the live view.
    type Interval;

    /// Adds an interval that has ended.
    fn add(&mut self, interval: &Self::Interval);

    /// The page. Before the first interval all counters are 0.
    fn page(&self) -> String;
}

/// Totals of a live view of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceMetrics<T> {
    device: String,
    watched_s: f64,
    total: T,
}

impl<T: Default> DeviceMetrics<T> {
    /// Creates totals of 0 for a device.
    #[must_use]
    pub fn new(device: &str) -> Self {
        DeviceMetrics {
            device: device.to_owned(),
            watched_s: 0.0,
            total: T::default(),
        }
    }

    fn exposition(&self) -> Exposition {
        let mut page = Exposition {
            device: format!("device=\"{}\"", escape(&self.device)),
            text: String::new(),
        };
        let help = "Time that the counters cover, up to the end of the last interval.";
        page.counter("watched_seconds", help, self.watched_s);
        page
    }
}

/// Totals over all intervals of the kernel's own hybrid polling of a device, as `q2c poll watch
/// --kernel` shows it. The number of threads is that of the last interval.
pub type KernelMetrics = DeviceMetrics<KernelInterval>;

impl Metrics for KernelMetrics {
    type Interval = KernelInterval;

    fn add(&mut self, interval: &KernelInterval) {
        let total = &mut self.total;
        self.watched_s += interval.length_s;
        total.polled += interval.polled;
        total.slept += interval.slept;
        total.missed += interval.missed;
        total.unknown += interval.unknown;
        total.threads = interval.threads;
    }

    fn page(&self) -> String {
        let total = &self.total;
        let mut page = self.exposition();
        page.count("polled", "Polled requests that completed.", total.polled);
        let help = "Polled requests for which a thread slept first.";
        page.count("slept", help, total.slept);
        let help = "Requests that were complete by the end of the first poll after their sleep.";
        page.count("misses", help, total.missed);
        let help =
            "Requests that were slept for, of which it is not known whether they were missed.";
        page.count("unknown", help, total.unknown);
        let help = "Threads that polled the device in the last interval.";
        page.gauge("q2c_polling_threads", help, total.threads as f64);
        page.text
    }
}

/// Totals of a capture by `q2c top`.
pub type LiveMetrics = DeviceMetrics<CaptureTotals>;

/// Sums over the intervals of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureTotals {
    ios: u64,
    bytes: u64,
    latency: LatencyCounts,
    /// The number of I/Os in each stage, and their time in it, ns.
    stages: BTreeMap<String, (u64, f64)>,
    in_flight: u64,
    lost: u64,
    unqueued: u64,
}

/// The stage that is no part of an I/O's time: it lasts from the I/O before to this I/O.
const BETWEEN_IOS: &str = "Q2Q";

impl Metrics for LiveMetrics {
    type Interval = LiveInterval;

    fn add(&mut self, interval: &LiveInterval) {
        let total = &mut self.total;
        self.watched_s += interval.length_s;
        total.ios += interval.ios;
        total.bytes = total.bytes.saturating_add(interval.bytes);
        total.latency.add(&interval.latency);
        let stages = interval.stages.iter();
        for (name, stage) in stages.filter(|(name, _)| *name != BETWEEN_IOS) {
            let (ios, ns) = total.stages.entry(name.clone()).or_default();
            *ios += stage.n;
            *ns += stage.mean_ns * stage.n as f64;
        }
        total.in_flight = interval.in_flight_now.unwrap_or(total.in_flight);
        (total.lost, total.unqueued) = (interval.lost, interval.unqueued);
    }

    fn page(&self) -> String {
        let total = &self.total;
        let mut page = self.exposition();
        page.count("ios", "I/Os that completed.", total.ios);
        page.count("bytes", "Bytes of the I/Os that completed.", total.bytes);
        let help = "Latency of the I/Os in the block layer, from queued to complete (Q2C).";
        page.histogram("q2c_block_latency_seconds", help, &total.latency);
        let stages = total.stages.iter();
        let seconds = Vec::from_iter(stages.clone().map(|(name, (_, ns))| (name, ns / 1e9)));
        let help = "Time that the I/Os spent in each stage; Q2C is the whole.";
        page.stage_counters("q2c_stage_seconds_total", help, &seconds);
        let ios = Vec::from_iter(stages.map(|(name, (ios, _))| (name, *ios as f64)));
        page.stage_counters("q2c_stage_ios_total", "I/Os that have the stage.", &ios);
        let help = "I/Os in flight at the end of the last interval, about.";
        page.gauge("q2c_in_flight", help, total.in_flight as f64);
        page.count("lost", "I/Os or events that the capture lost.", total.lost);
        let help = "I/Os that completed and were not seen when they were queued.";
        page.count("unqueued", help, total.unqueued);
        page.text
    }
}

/// Totals of a workload that `q2c poll watch` follows.
pub type WatchMetrics = DeviceMetrics<WorkloadTotals>;

/// Sums over the intervals of a watched workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadTotals {
    counts: WatchCounts,
    latency: LatencyCounts,
    /// The method in the last interval; `None` before the first interval, or if threads had
    /// different methods.
    method: Option<String>,
}

/// The sum of two counts; an unknown one counts as 0, and `None` means that both are unknown.
fn add_known(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    more.map(|more| sum.unwrap_or(0) + more).or(sum)
}

impl Metrics for WatchMetrics {
    type Interval = WatchLine;

    fn add(&mut self, line: &WatchLine) {
        let (total, counts) = (&mut self.total.counts, &line.counts);
        self.watched_s += line.interval.length_s;
        total.ios += counts.ios;
        total.handled += counts.handled;
        total.slept += counts.slept;
        total.misses += counts.misses;
        total.asked_ns += counts.asked_ns;
        total.slept_ns += counts.slept_ns;
        total.cpu_ns += counts.cpu_ns;
        total.interrupts = add_known(total.interrupts, counts.interrupts);
        total.background_ios = add_known(total.background_ios, counts.background_ios);
        self.total.latency.add(&line.latency);
        self.total.method = line.method_name.as_ref().map(ToString::to_string);
    }

    fn page(&self) -> String {
        let total = &self.total.counts;
        let mut page = self.exposition();
        page.count("ios", "I/Os of the foreground.", total.ios);
        let help = "Latency of the foreground's I/Os from submission to reaping (U2C), as far as recorded.";
        page.histogram("q2c_user_latency_seconds", help, &self.total.latency);
        let help = "I/Os that hybrid polling handled.";
        page.count("handled", help, total.handled);
        page.count("slept", "I/Os that slept.", total.slept);
        let help = "I/Os that were complete when their sleep ended.";
        page.count("misses", help, total.misses);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let help = "Sleeps that the rule asked for.";
        page.counter("sleep_asked_seconds", help, seconds(total.asked_ns));
        let help = "Sleeps from call to return.";
        page.counter("sleep_seconds", help, seconds(total.slept_ns));
        let help = "CPU time of the foreground's threads.";
        page.counter("cpu_seconds", help, seconds(total.cpu_ns));
        if let Some(interrupts) = total.interrupts {
            page.count("interrupts", "Interrupts of the device.", interrupts);
        }
        if let Some(ios) = total.background_ios {
            page.count("background_ios", "I/Os of the background.", ios);
        }
        if let Some(method) = &self.total.method {
            page.head("q2c_method_info", "The method in force.", "gauge");
            page.sample("q2c_method_info", &label("method", method), 1.0);
        }
        page.text
    }
}

/// The octaves of latencies from 512 ns to 17 s, as log2 of their starts in ns. A bucket ends at
/// each start and at each middle of an octave.
const OCTAVES: std::ops::RangeInclusive<u32> = 9..=34;

/// A page that is being written. Each metric is written once, with all its samples.
struct Exposition {
    /// The value of the label `device`, which every sample has.
    device: String,
    text: String,
}

impl Exposition {
    /// A count that only grows, by its name without the prefix `q2c_` and the suffix `_total`.
    fn count(&mut self, name: &str, help: &str, value: u64) {
        self.counter(name, help, value as f64);
    }

    /// A value that only grows, by its name without the prefix `q2c_` and the suffix `_total`.
    fn counter(&mut self, name: &str, help: &str, value: f64) {
        let name = format!("q2c_{name}_total");
        self.head(&name, help, "counter");
        self.sample(&name, "", value);
    }

    /// A value that rises and falls.
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, "", value);
    }

    /// Values that only grow, one for each stage.
    fn stage_counters(&mut self, name: &str, help: &str, values: &[(&String, f64)]) {
        self.head(name, help, "counter");
        for (stage, value) in values {
            self.sample(name, &label("stage", stage), *value);
        }
    }

    /// Latencies in buckets. Latencies are whole ns, so each bound is 1 ns below a power of two or
    /// below the middle between two.
    fn histogram(&mut self, name: &str, help: &str, latency: &LatencyCounts) {
        self.head(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        for octave in OCTAVES {
            for bound_ns in [1_u64 << octave, 3 << (octave - 1)] {
                let le = ((bound_ns - 1) as f64 / 1e9).to_string();
                let below = latency.below(bound_ns) as f64;
                self.sample(&bucket, &label("le", &le), below);
            }
        }
        self.sample(&bucket, ",le=\"+Inf\"", latency.ios as f64);
        self.sample(&format!("{name}_sum"), "", latency.sum_ns as f64 / 1e9);
        self.sample(&format!("{name}_count"), "", latency.ios as f64);
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string cannot fail.
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        writeln!(self.text, "{name}{{{}{labels}}} {value}", self.device).ok();
    }
}

fn label(label: &str, value: &str) -> String {
    format!(",{label}=\"{}\"", escape(value))
}

/// Escapes the value of a label for its place between quotes.
fn escape(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace('"', r#"\""#);
    value.replace('\n', r"\n")
}

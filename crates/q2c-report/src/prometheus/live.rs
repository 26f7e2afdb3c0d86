//! The metrics of `q2c analyze --live`.

use super::Metrics;
use super::exposition::Exposition;
use q2c_result::live::{LatencyCounts, LiveInterval};
use std::collections::BTreeMap;

/// Totals of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveMetrics {
    device: String,
    watched_s: f64,
    ios: u64,
    bytes: u64,
    latency: LatencyCounts,
    /// I/Os and time of each stage, ns.
    stages: BTreeMap<String, (u64, f64)>,
    in_flight: u64,
    lost: u64,
    unqueued: u64,
}

impl LiveMetrics {
    /// Nothing was captured of this device yet.
    #[must_use]
    pub fn new(device: &str) -> Self {
        LiveMetrics {
            device: device.to_owned(),
            ..LiveMetrics::default()
        }
    }
}

/// The stage that counts no time of an I/O: that from the I/O before it.
const BETWEEN: &str = "Q2Q";

impl Metrics for LiveMetrics {
    type Interval = LiveInterval;

    fn add(&mut self, interval: &LiveInterval) {
        self.watched_s += interval.length_s;
        self.ios += interval.ios;
        self.bytes = self.bytes.saturating_add(interval.bytes);
        self.latency.add(&interval.latency);
        for (name, stage) in interval.stages.iter().filter(|(name, _)| *name != BETWEEN) {
            let (ios, ns) = self.stages.entry(name.clone()).or_default();
            *ios += stage.n;
            *ns += stage.mean_ns * stage.n as f64;
        }
        self.in_flight = interval.in_flight_now;
        (self.lost, self.unqueued) = (interval.lost, interval.unqueued);
    }

    fn page(&self) -> String {
        let mut page = Exposition::new(&self.device);
        page.watched(self.watched_s);
        page.counts(&[
            ("ios", "I/Os that completed.", self.ios),
            ("bytes", "Bytes of the I/Os that completed.", self.bytes),
        ]);
        page.histogram(
            "q2c_block_latency_seconds",
            "Latency of the I/Os in the block layer, from queued to complete (Q2C).",
            &self.latency,
        );
        let stages = || {
            self.stages
                .iter()
                .map(|(name, totals)| (name.as_str(), totals))
        };
        page.counters(
            "q2c_stage_seconds_total",
            "Time that the I/Os spent in each stage; Q2C is the whole.",
            "stage",
            stages().map(|(name, (_, ns))| (name, ns / 1e9)),
        );
        page.counters(
            "q2c_stage_ios_total",
            "I/Os that have the stage.",
            "stage",
            stages().map(|(name, (ios, _))| (name, *ios as f64)),
        );
        let help = "I/Os in flight at the end of the last interval, about.";
        page.gauge("q2c_in_flight", help, self.in_flight as f64);
        page.counts(&[
            ("lost", "I/Os or events that the capture lost.", self.lost),
            (
                "unqueued",
                "I/Os that completed and were not seen when they were queued.",
                self.unqueued,
            ),
        ]);
        page.text()
    }
}

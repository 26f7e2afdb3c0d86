//! The metrics of `q2c poll watch`.

use super::Metrics;
use super::exposition::Exposition;
use q2c_result::live::LatencyCounts;
use q2c_result::watch::{WatchCounts, WatchLine};

/// Totals of a watched workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchMetrics {
    device: String,
    watched_s: f64,
    total: WatchCounts,
    latency: LatencyCounts,
    /// The method of the last interval; `None` before the first, and where threads had different
    /// ones.
    method: Option<String>,
}

impl WatchMetrics {
    /// Nothing was done on this target yet.
    #[must_use]
    pub fn new(device: &str) -> Self {
        WatchMetrics {
            device: device.to_owned(),
            ..WatchMetrics::default()
        }
    }
}

/// The sum of two counts of which either may be unknown.
fn plus(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    more.map(|more| sum.unwrap_or(0) + more).or(sum)
}

impl Metrics for WatchMetrics {
    type Interval = WatchLine;

    fn add(&mut self, line: &WatchLine) {
        let (total, counts) = (&mut self.total, &line.counts);
        self.watched_s += line.interval.length_s;
        total.ios += counts.ios;
        total.handled += counts.handled;
        total.slept += counts.slept;
        total.misses += counts.misses;
        total.asked_ns += counts.asked_ns;
        total.slept_ns += counts.slept_ns;
        total.cpu_ns += counts.cpu_ns;
        total.interrupts = plus(total.interrupts, counts.interrupts);
        total.background_ios = plus(total.background_ios, counts.background_ios);
        self.latency.add(&line.latency);
        self.method = line.method_name.as_ref().map(ToString::to_string);
    }

    fn page(&self) -> String {
        let total = &self.total;
        let mut page = Exposition::new(&self.device);
        page.watched(self.watched_s);
        page.counts(&[("ios", "I/Os of the foreground.", total.ios)]);
        page.histogram(
            "q2c_user_latency_seconds",
            "Latency of the foreground's I/Os from submission to reaping (U2C), as far as recorded.",
            &self.latency,
        );
        page.counts(&[
            (
                "handled",
                "I/Os that hybrid polling handled.",
                total.handled,
            ),
            ("slept", "I/Os that slept.", total.slept),
            (
                "misses",
                "I/Os that were complete when their sleep ended.",
                total.misses,
            ),
        ]);
        for (name, help, ns) in [
            (
                "sleep_asked_seconds",
                "Sleeps that the rule asked for.",
                total.asked_ns,
            ),
            (
                "sleep_seconds",
                "Sleeps from call to return.",
                total.slept_ns,
            ),
            (
                "cpu_seconds",
                "CPU time of the foreground's threads.",
                total.cpu_ns,
            ),
        ] {
            page.counter(name, help, ns as f64 / 1e9);
        }
        if let Some(interrupts) = total.interrupts {
            page.counts(&[("interrupts", "Interrupts of the device.", interrupts)]);
        }
        if let Some(ios) = total.background_ios {
            page.counts(&[("background_ios", "I/Os of the background.", ios)]);
        }
        if let Some(method) = &self.method {
            page.fact("q2c_method_info", "The method in force.", "method", method);
        }
        page.text()
    }
}

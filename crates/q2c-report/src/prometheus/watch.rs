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

    fn sleeps(&self, page: &mut Exposition) {
        let total = &self.total;
        page.counter(
            "q2c_handled_total",
            "I/Os that hybrid polling handled.",
            total.handled as f64,
        );
        page.counter("q2c_slept_total", "I/Os that slept.", total.slept as f64);
        page.counter(
            "q2c_misses_total",
            "I/Os that were complete when their sleep ended.",
            total.misses as f64,
        );
        page.counter(
            "q2c_sleep_asked_seconds_total",
            "Sleeps that the rule asked for.",
            total.asked_ns as f64 / 1e9,
        );
        page.counter(
            "q2c_sleep_seconds_total",
            "Sleeps from call to return.",
            total.slept_ns as f64 / 1e9,
        );
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
        page.counter(
            "q2c_watched_seconds_total",
            "Time that the counters cover, up to the end of the last interval.",
            self.watched_s,
        );
        page.counter("q2c_ios_total", "I/Os of the foreground.", total.ios as f64);
        page.histogram(
            "q2c_user_latency_seconds",
            "Latency of the foreground's I/Os from submission to reaping (U2C), as far as recorded.",
            &self.latency,
        );
        self.sleeps(&mut page);
        page.counter(
            "q2c_cpu_seconds_total",
            "CPU time of the foreground's threads.",
            total.cpu_ns as f64 / 1e9,
        );
        if let Some(interrupts) = total.interrupts {
            page.counter(
                "q2c_interrupts_total",
                "Interrupts of the device.",
                interrupts as f64,
            );
        }
        if let Some(ios) = total.background_ios {
            page.counter(
                "q2c_background_ios_total",
                "I/Os of the background.",
                ios as f64,
            );
        }
        if let Some(method) = &self.method {
            page.fact("q2c_method_info", "The method in force.", "method", method);
        }
        page.text()
    }
}

//! The metrics of `q2c poll watch --kernel`.

use super::Metrics;
use super::exposition::Exposition;
use q2c_result::kernel_watch::KernelInterval;

/// Totals of the kernel's own hybrid polling of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelMetrics {
    device: String,
    watched_s: f64,
    polled: u64,
    slept: u64,
    missed: u64,
    unknown: u64,
    threads: u64,
}

impl KernelMetrics {
    /// Nothing was seen of this device yet.
    #[must_use]
    pub fn new(device: &str) -> Self {
        KernelMetrics {
            device: device.to_owned(),
            ..KernelMetrics::default()
        }
    }
}

impl Metrics for KernelMetrics {
    type Interval = KernelInterval;

    fn add(&mut self, interval: &KernelInterval) {
        self.watched_s += interval.length_s;
        self.polled += interval.polled;
        self.slept += interval.slept;
        self.missed += interval.missed;
        self.unknown += interval.unknown;
        self.threads = interval.threads;
    }

    fn page(&self) -> String {
        let mut page = Exposition::new(&self.device);
        let counters = [
            ("polled", "Polled requests that completed.", self.polled),
            (
                "slept",
                "Polled requests for which a thread slept first.",
                self.slept,
            ),
            (
                "misses",
                "Requests that were complete by the end of the first poll after their sleep.",
                self.missed,
            ),
            (
                "unknown",
                "Requests that were slept for, of which it is not known whether they were missed.",
                self.unknown,
            ),
        ];
        page.counter(
            "q2c_watched_seconds_total",
            "Time that the counters cover, up to the end of the last interval.",
            self.watched_s,
        );
        for (name, help, value) in counters {
            page.counter(&format!("q2c_{name}_total"), help, value as f64);
        }
        page.gauge(
            "q2c_polling_threads",
            "Threads that polled the device in the last interval.",
            self.threads as f64,
        );
        page.text()
    }
}

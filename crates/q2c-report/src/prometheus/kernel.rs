//! The metrics of `q2c poll watch --kernel`.

use super::Metrics;
use super::exposition::Exposition;
use q2c_result::kernel_watch::KernelInterval;

/// Totals of the kernel's own hybrid polling of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelMetrics {
    device: String,
    /// The sums of all intervals; `threads` are those of the last one.
    total: KernelInterval,
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
        let total = &mut self.total;
        total.length_s += interval.length_s;
        total.polled += interval.polled;
        total.slept += interval.slept;
        total.missed += interval.missed;
        total.unknown += interval.unknown;
        total.threads = interval.threads;
    }

    fn page(&self) -> String {
        let total = &self.total;
        let mut page = Exposition::new(&self.device);
        page.watched(total.length_s);
        page.counts(&[
            ("polled", "Polled requests that completed.", total.polled),
            (
                "slept",
                "Polled requests for which a thread slept first.",
                total.slept,
            ),
            (
                "misses",
                "Requests that were complete by the end of the first poll after their sleep.",
                total.missed,
            ),
            (
                "unknown",
                "Requests that were slept for, of which it is not known whether they were missed.",
                total.unknown,
            ),
        ]);
        let help = "Threads that polled the device in the last interval.";
        page.gauge("q2c_polling_threads", help, total.threads as f64);
        page.text()
    }
}

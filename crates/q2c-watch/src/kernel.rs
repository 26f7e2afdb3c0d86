//! Watches the kernel's own hybrid polling of a device, whichever processes use it.

mod cpu;
mod sleeps;

use cpu::CpuReading;
pub use cpu::own_cpu;
use q2c_capture::ProbeError;
use q2c_capture::kernel_hybrid::{Delay, HybridCounts, KernelHybrid};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::Rates;
use q2c_result::kernel_watch::KernelInterval;
pub use sleeps::{KernelSleeps, SleepFigures, run_with_probe};
use std::time::Instant;

/// A running watch of one disk; each call of [`KernelWatch::interval`] ends an interval.
pub struct KernelWatch {
    probe: KernelHybrid,
    roots: Roots,
    disk: Disk,
    begun: Instant,
    first_reading: Reading,
    last_reading: Reading,
    /// Summed interval by interval, since threads come and go.
    threads: ThreadTime,
}

/// The most threads of an interval, and the time and CPU of all threads, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ThreadTime {
    max_threads: u64,
    watched_s: f64,
    cpu_s: f64,
}

impl ThreadTime {
    fn add(&mut self, interval: &KernelInterval) {
        let watched_s = interval.threads as f64 * interval.length_s;
        self.max_threads = self.max_threads.max(interval.threads);
        self.watched_s += watched_s;
        self.cpu_s += interval.rates.cpu_pct.unwrap_or(0.0) / 100.0 * watched_s;
    }

    fn cpu_pct(self) -> Option<f64> {
        (self.watched_s > 0.0).then(|| self.cpu_s / self.watched_s * 100.0)
    }
}

/// The counters at one moment. `at_s` is counted from the begin of the watch.
#[derive(Clone)]
struct Reading {
    at_s: f64,
    counts: HybridCounts,
    cpu: CpuReading,
}

impl KernelWatch {
    /// Attaches the probe and begins the first interval.
    pub fn begin(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        let probe = KernelHybrid::attach(roots, disk)?;
        let begun = Instant::now();
        let first_reading = Reading::take(&probe, roots, begun)?;
        Ok(KernelWatch {
            probe,
            roots: roots.clone(),
            disk: disk.clone(),
            begun,
            last_reading: first_reading.clone(),
            first_reading,
            threads: ThreadTime::default(),
        })
    }

    /// Ends an interval: the figures since the last call, or since the begin of the watch.
    pub fn interval(&mut self) -> Result<KernelInterval, ProbeError> {
        let now = Reading::take(&self.probe, &self.roots, self.begun)?;
        let interval = self.between(&self.last_reading, &now);
        self.last_reading = now;
        self.threads.add(&interval);
        Ok(interval)
    }

    /// Forgets all intervals so far, and begins the first interval now.
    pub(crate) fn restart(&mut self) -> Result<(), ProbeError> {
        self.begun = Instant::now();
        self.first_reading = Reading::take(&self.probe, &self.roots, self.begun)?;
        self.last_reading = self.first_reading.clone();
        self.threads = ThreadTime::default();
        Ok(())
    }

    /// All intervals so far as one. Its number of threads is the largest of any interval.
    pub fn total(&self) -> KernelInterval {
        let mut total = self.between(&self.first_reading, &self.last_reading);
        total.threads = self.threads.max_threads;
        total.rates.cpu_pct = self.threads.cpu_pct();
        total
    }

    /// True if the device still exists.
    pub fn is_there(&self) -> bool {
        Delay::path(&self.disk).exists()
    }

    fn between(&self, from: &Reading, to: &Reading) -> KernelInterval {
        let length_s = to.at_s - from.at_s;
        let cpu = to.cpu.since(&from.cpu, length_s);
        KernelInterval {
            end_s: to.at_s,
            length_s,
            io_poll_delay: Delay::read(&self.disk).map(|delay| delay.0),
            threads: cpu.threads,
            busy_cpus: cpu.busy,
            own_cpu_pct: cpu.own_pct,
            ..to_interval(to.counts.since(from.counts), length_s, cpu.pct)
        }
    }
}

impl Reading {
    fn take(probe: &KernelHybrid, roots: &Roots, begun: Instant) -> Result<Reading, ProbeError> {
        let counts = probe.read()?;
        Ok(Reading {
            at_s: begun.elapsed().as_secs_f64(),
            counts,
            cpu: CpuReading::read(roots, &probe.threads()?),
        })
    }
}

/// `cpu_pct` is the CPU time of the threads that polled, percent of one CPU each.
fn to_interval(counts: HybridCounts, length_s: f64, cpu_pct: Option<f64>) -> KernelInterval {
    KernelInterval {
        polled: counts.polled,
        slept: counts.slept,
        missed: counts.missed,
        // A sleep for which the kernel's table had no room belongs to a request of which nothing
        // more is known.
        unknown: counts.unknown + counts.not_kept,
        rates: Rates {
            iops: Some(counts.polled as f64 / length_s.max(f64::MIN_POSITIVE)),
            cpu_pct,
            miss_rate: counts.miss_rate(),
            effective_sleep_ns: counts.effective_sleep_ns(),
        },
        asked_ns: counts.mean_asked_ns(),
        slept_ns: counts.mean_slept_ns(),
        ..KernelInterval::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads at 50 % for 1 s and one at 80 % for 2 s use 2.6 s of CPU in 4 s of thread time.
    #[test]
    fn threads_that_come_and_go() {
        let mut time = ThreadTime::default();
        for (threads, cpu_pct, length_s) in
            [(0, None, 1.0), (2, Some(50.0), 1.0), (1, Some(80.0), 2.0)]
        {
            time.add(&KernelInterval {
                threads,
                rates: Rates {
                    cpu_pct,
                    ..Rates::default()
                },
                length_s,
                ..KernelInterval::default()
            });
        }
        assert_eq!((time.max_threads, time.cpu_pct()), (2, Some(65.0)));
        assert_eq!(ThreadTime::default().cpu_pct(), None);
    }

    #[test]
    fn numbers_of_an_interval() {
        let counts = HybridCounts {
            polled: 1_000,
            slept: 800,
            missed: 50,
            unknown: 1,
            asked_ns: 16_000_000,
            timed: 400,
            slept_ns: 14_000_000,
            not_kept: 2,
        };
        let interval = to_interval(counts, 0.5, None);
        assert_eq!((interval.rates.iops, interval.unknown), (Some(2_000.0), 3));
        assert_eq!(interval.rates.miss_rate, Some(0.05));
        assert_eq!(interval.rates.effective_sleep_ns, Some(16_000.0));
        assert_eq!(interval.asked_ns, Some(20_000.0));
        assert_eq!(interval.slept_ns, Some(35_000.0));
    }
}

//! Watches the kernel's own hybrid polling of one device (Linux 5.8 to 5.18), whose sleep is set by
//! `io_poll_delay`.
//!
//! Everything is counted when a polled request completes, so that all counts of an interval are of
//! the same requests. A *miss* is a request that was complete by the end of the first poll after
//! its sleep; `probes/kernel_hybrid/pairing.h` says how it is found. The program learns the
//! device's queue from the first request that completes; the sleep of that request is not seen.

mod support;

pub use support::{Delay, check};

use crate::ProbeError;
use crate::counts::counts;
use crate::object::Object;
use crate::permission;
use crate::symbols::{Symbols, need_kprobes};
use q2c_host::Roots;
use q2c_host::block::Disk;
use std::collections::BTreeMap;

static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/kernel_hybrid.bpf.o"));

/// Names of the block layer's poll function: until 5.15, and since 5.16. Its first arguments are
/// queue and cookie.
const POLL_FUNCTIONS: [&str; 2] = ["blk_poll", "blk_mq_poll"];
/// Functions from whose code the sleep may begin. The compiler may inline one into another, so all
/// are looked for.
const SLEEPERS: [&str; 4] = [
    "blk_poll",
    "blk_mq_poll",
    "blk_mq_poll_hybrid",
    "blk_mq_poll_hybrid_sleep",
];
const TIMER_FUNCTION: &str = "hrtimer_sleeper_start_expires";
/// Poll functions of the drivers; each call is one look for completions.
const DRIVER_POLLS: [&str; 7] = [
    "nvme_poll",
    "nvme_tcp_poll",
    "nvme_rdma_poll",
    "scsi_mq_poll",
    "null_poll",
    "virtblk_poll",
    "ramdisk_mq_poll",
];
/// Length of the program's table `callers`.
const MAX_CALLERS: usize = 8;

/// The program's `struct task`: polls of the driver so far, queue and cookie of the polled request,
/// and 1 from the start of the last sleep until the thread is seen again.
pub type ThreadPollState = [u64; 4];

/// An attached probe of the kernel's hybrid polling. The counts are running sums;
/// [`HybridCounts::since`] takes those of an interval.
pub struct KernelHybrid {
    object: Object,
}

impl KernelHybrid {
    /// Begins to watch a disk.
    pub fn attach(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        check(roots, disk)?;
        permission::check(roots)?;
        need_kprobes(roots)?;
        let symbols = Symbols::read(roots)?;
        let poll_function = symbols.present(&POLL_FUNCTIONS)?[0];
        symbols.present(&[TIMER_FUNCTION])?;
        let drivers = symbols.present(&DRIVER_POLLS)?;
        let mut callers = [[0_u64; 2]; MAX_CALLERS];
        for (caller, code) in callers.iter_mut().zip(symbols.code_ranges(&SLEEPERS)?) {
            *caller = code;
        }
        let mut object = Object::load(roots, OBJECT, &disk.dev, |loader| {
            loader.override_global("callers", &callers, /* must_exist */ true);
        })?;
        object.attach_tracepoint("complete", "block_rq_complete")?;
        object.attach_functions("driver_poll", &drivers)?;
        object.attach_functions("start_sleep", &[TIMER_FUNCTION])?;
        object.attach_functions("enter_poll", &[poll_function])?;
        Ok(KernelHybrid { object })
    }

    /// The counts since the probe was attached, summed over all CPUs.
    pub fn read(&self) -> Result<HybridCounts, ProbeError> {
        Ok(HybridCounts::sum(&self.object.per_cpu("counted")?))
    }

    /// Threads that polled the device so far, by thread id. The kernel's table holds 8192 of them
    /// and drops the least recent ones. A thread's value changes whenever it polls, so two equal
    /// values mean that it did not poll in between.
    pub fn threads(&self) -> Result<BTreeMap<u32, ThreadPollState>, ProbeError> {
        self.object.entries("tasks")
    }
}

counts! {
    /// The program's counts over all polled requests of the device.
    pub struct HybridCounts {
        /// Polled requests that completed.
        pub polled,
        /// Polled requests for which a thread slept first.
        pub slept,
        /// Requests that were complete by the end of the first poll after their sleep: misses.
        pub missed,
        /// Requests that were slept for, but of which it is not known whether they were missed,
        /// because an event was lost.
        pub unknown,
        /// Sum of the sleeps asked, ns.
        pub asked_ns,
        /// Sleeps whose end was seen; `slept_ns` is over these.
        pub timed,
        /// Sum of the lengths of these sleeps, ns: from the timer's start to the next call of the
        /// poll function.
        pub slept_ns,
        /// Sleeps for which the kernel's table had no room; their requests count as not slept for.
        pub not_kept,
    }
}

impl HybridCounts {
    /// Miss rate, 0 to 1: misses / polled requests. `None` without a polled request.
    pub fn miss_rate(self) -> Option<f64> {
        ratio(self.missed, self.polled)
    }

    /// Effective sleep, ns: sum of the sleeps asked / polled requests. `None` without a polled
    /// request.
    pub fn effective_sleep_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.polled)
    }

    /// Mean sleep asked, ns, over the requests that were slept for. `None` without such a request.
    pub fn mean_asked_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.slept)
    }

    /// Mean length of a sleep, ns, from the timer's start to the next call of the poll function.
    /// `None` when no sleep's end was seen.
    pub fn mean_slept_ns(self) -> Option<f64> {
        ratio(self.slept_ns, self.timed)
    }
}

fn ratio(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_over_all_polled_requests() {
        let cpus = [[6, 3, 1, 0, 120, 2, 90, 0], [4, 1, 1, 1, 80, 1, 60, 2]];
        let total = HybridCounts::sum(&cpus);
        assert_eq!((total.polled, total.unknown, total.not_kept), (10, 1, 2));
        assert_eq!(total.miss_rate(), Some(0.2));
        assert_eq!((total.slept, total.polled), (4, 10));
        assert_eq!(total.effective_sleep_ns(), Some(20.0));
        let expected = (Some(50.0), Some(50.0));
        assert_eq!((total.mean_asked_ns(), total.mean_slept_ns()), expected);
        let later = HybridCounts {
            polled: 25,
            ..total
        };
        assert_eq!(later.since(total).polled, 15);
        assert_eq!(HybridCounts::default().miss_rate(), None);
    }
}

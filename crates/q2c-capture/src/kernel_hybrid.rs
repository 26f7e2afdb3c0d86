//! Watches the kernel's own hybrid polling of one device (Linux 5.8 to 5.18), whose sleep is set by
//! `io_poll_delay`.
//!
//! Everything is counted when a polled request completes, so that all counts of an interval are of
//! the same requests. A
//! *miss* is a request that was complete by the end of the first poll after its sleep;
//! `probes/kernel_hybrid/pairing.h` says how it is found. The program learns the device's queue
//! from the first request that completes; the sleep of that request is not seen.

mod counts;
mod support;

pub use counts::Counts;
pub use support::{Delay, check};

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use crate::symbols::{Symbols, need_kprobes};
use aya::maps::{HashMap, MapData, PerCpuArray};
use counts::FIELDS;
use q2c_host::Roots;
use q2c_host::block::Disk;
use std::collections::BTreeMap;

static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/kernel_hybrid.bpf.o"));

/// Names of the block layer's poll function: until 5.15, and since 5.16. Its first arguments are
/// queue and cookie.
const POLL: [&str; 2] = ["blk_poll", "blk_mq_poll"];
/// Functions from whose code the sleep may begin. The compiler may inline one into another, so all
/// are looked for.
const SLEEPERS: [&str; 4] = [
    "blk_poll",
    "blk_mq_poll",
    "blk_mq_poll_hybrid",
    "blk_mq_poll_hybrid_sleep",
];
const TIMER: &str = "hrtimer_sleeper_start_expires";
/// Poll functions of the drivers; each call is one look for completions.
const DRIVERS: [&str; 7] = [
    "nvme_poll",
    "nvme_tcp_poll",
    "nvme_rdma_poll",
    "scsi_mq_poll",
    "null_poll",
    "virtblk_poll",
    "ramdisk_mq_poll",
];
/// Length of the program's table `callers`.
const CALLERS: usize = 8;

/// The program's `struct task`: polls of the driver so far, queue and cookie of the request polled
/// for, and 1 while the thread has not been seen again since its last sleep began.
pub type Polling = [u64; 4];

/// An attached probe of the kernel's hybrid polling. The counts are running sums; [`Counts::since`]
/// takes those of an interval.
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
        let entry = symbols.first_of(&POLL)?;
        symbols.first_of(&[TIMER])?;
        symbols.first_of(&DRIVERS)?;
        let drivers: Vec<&str> = DRIVERS.into_iter().filter(|d| symbols.has(d)).collect();
        let mut callers = [[0_u64; 2]; CALLERS];
        let code = symbols.code_of(&SLEEPERS)?;
        let places = callers.iter_mut().zip(code);
        places.for_each(|(to, from)| *to = from);

        let mut object = Object::load(roots, OBJECT, disk.dev, Some(&callers))?;
        object.on_known_tracepoint("complete", "block_rq_complete")?;
        object.on_functions("driver_poll", &drivers)?;
        object.on_functions("start_sleep", &[TIMER])?;
        object.on_functions("enter_poll", &[entry])?;
        Ok(KernelHybrid { object })
    }

    /// The counts since the probe was attached, summed over all CPUs.
    pub fn read(&self) -> Result<Counts, ProbeError> {
        let map = self.object.map("counted");
        let read = || PerCpuArray::<&MapData, [u64; FIELDS]>::try_from(map)?.get(&0, 0);
        let cpus = read().map_err(|error| self.object.unread(&error))?;
        Ok(cpus.iter().copied().map(Counts::from).sum())
    }

    /// Threads that polled the device so far, by thread id. The kernel's table holds 8192 and drops
    /// those used least recently. A thread's value changes whenever it polls, so two equal values
    /// mean that it did not poll between.
    pub fn threads(&self) -> Result<BTreeMap<u32, Polling>, ProbeError> {
        let tasks = HashMap::<&MapData, u32, Polling>::try_from(self.object.map("tasks"));
        let tasks = tasks.map_err(|error| self.object.unread(&error))?;
        Ok(tasks.iter().filter_map(Result::ok).collect())
    }
}

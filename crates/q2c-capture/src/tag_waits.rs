//! Counts sleeps of a process for a request: all tags of a hardware queue, or of its I/O scheduler,
//! are in use, so that the thread sleeps until one is given back (`blk_mq_get_tag`). It needs Linux
//! 5.8. An I/O that finds a free tag costs nothing here.

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use crate::symbols::{Symbols, need_kprobes};
use aya::maps::{HashMap, MapData, PerCpuArray};
use q2c_host::Roots;
use q2c_host::block::Disk;
use std::collections::HashMap as Owners;
use std::process;

/// The BPF program as `build.rs` compiled it.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tag_waits.bpf.o"));

/// Length of the program's slices of time, ns.
pub const SLICE_NS: u64 = 10_000_000;

/// Programs and the kernel functions that they are on, the last one of a wait first, so that none
/// is seen in part.
const ON: [(&str, &str); 3] = [
    ("finish", "sbitmap_finish_wait"),
    ("sleeps", "io_schedule"),
    ("prepare", "sbitmap_prepare_to_wait"),
];

/// Sleeps of one thread for a request of one hardware queue, in one slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagWait {
    /// The thread.
    pub tid: u32,
    /// Begin of the slice in which the waits began, ns of CLOCK_MONOTONIC. It wraps after 497 days.
    pub slice_ns: u64,
    /// The hardware queue whose requests were all in use when the wait began.
    pub queue: u32,
    /// Whether they were those of the I/O scheduler.
    pub of_scheduler: bool,
    /// Times that the thread slept. An I/O may sleep several times.
    pub sleeps: u64,
    /// Time from the begin of these waits to their ends, ns.
    pub ns: u64,
}

/// What the probe counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagWaitCounts {
    /// Sleeps at the disk's hardware queues.
    pub waits: Vec<TagWait>,
    /// Sleeps for which the probe had no room.
    pub lost: u64,
}

/// An attached probe.
pub struct TagWaits {
    object: Object,
}

/// The program's `struct place`: the bitmap of the tags; thread, and slice in the upper half.
type Place = [u64; 2];
/// The program's `struct slept`: sleeps, and their time, ns.
type Slept = [u64; 2];
/// The program's `struct owner`: the queue, and whether the tags are those of the I/O scheduler.
type Owner = [u32; 2];

impl TagWaits {
    /// Begins to watch the threads of this process at one disk.
    ///
    /// # Errors
    /// A permission or a kernel function is lacking, or the kernel refuses.
    pub fn attach(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        need_kprobes(roots)?;
        let symbols = Symbols::read(roots)?;
        for (_, function) in ON {
            symbols.first_of(&[function])?;
        }
        let pid = process::id();
        let mut object = Object::load_with(roots, OBJECT, |loader| {
            loader.override_global("wanted_major", &disk.dev.major, true);
            loader.override_global("wanted_minor", &disk.dev.minor, true);
            loader.override_global("wanted_pid", &pid, true);
        })?;
        // The kernel refuses a program that reads an argument that its tracepoint does not have.
        if !object.on_tracepoint("issue_two", "block_rq_issue")? {
            object.on_known_tracepoint("issue_one", "block_rq_issue")?;
        }
        for (program, function) in ON {
            object.on_functions(program, &[function])?;
        }
        Ok(TagWaits { object })
    }

    /// What was counted since the probe was attached. Waits that have not ended are not in it.
    ///
    /// # Errors
    /// A map of the kernel cannot be read.
    pub fn read(&self) -> Result<TagWaitCounts, ProbeError> {
        let map = |name| self.object.ebpf.map(name).expect("a map of the object");
        let read = || {
            let owners = HashMap::<&MapData, u64, Owner>::try_from(map("owners"))?;
            let owners: Owners<u64, Owner> = owners.iter().filter_map(Result::ok).collect();
            let counted = HashMap::<&MapData, Place, Slept>::try_from(map("counted"))?;
            let lost = PerCpuArray::<&MapData, u64>::try_from(map("lost"))?.get(&0, 0)?;
            let wait = |(place, slept)| of_disk(&owners, place, slept);
            Ok(TagWaitCounts {
                waits: counted
                    .iter()
                    .filter_map(Result::ok)
                    .filter_map(wait)
                    .collect(),
                lost: lost.iter().sum(),
            })
        };
        read().map_err(|error: aya::maps::MapError| self.object.unread(&error))
    }
}

/// A count of the program; `None` when the tags are those of another device.
fn of_disk(
    owners: &Owners<u64, Owner>,
    [bitmap, at]: Place,
    [sleeps, ns]: Slept,
) -> Option<TagWait> {
    let [queue, of_scheduler] = *owners.get(&bitmap)?;
    Some(TagWait {
        tid: at as u32,
        slice_ns: (at >> 32) * SLICE_NS,
        queue,
        of_scheduler: of_scheduler != 0,
        sleeps,
        ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values laid out by hand as in `struct place`, `struct slept` and `struct owner`.
    #[test]
    fn sleeps_at_the_disks_own_tags() {
        let owners = Owners::from([(0xf00, [3, 0]), (0xf80, [3, 1])]);
        let at = 7 << 32 | 4_711;
        let wanted = TagWait {
            tid: 4_711,
            slice_ns: 70_000_000,
            queue: 3,
            of_scheduler: true,
            sleeps: 2,
            ns: 900,
        };
        assert_eq!(of_disk(&owners, [0xf80, at], [2, 900]), Some(wanted));
        let of_driver = TagWait {
            of_scheduler: false,
            ..wanted
        };
        assert_eq!(of_disk(&owners, [0xf00, at], [2, 900]), Some(of_driver));
        assert_eq!(of_disk(&owners, [0xfff, at], [2, 900]), None);
    }
}

//! Counts sleeps of a process for a request. When all tags of a hardware queue, or of its I/O
//! scheduler, are in use, the thread sleeps in `blk_mq_get_tag` until one is given back. It needs
//! Linux 5.8. An I/O that finds a free tag costs nothing here.

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use crate::symbols::{Symbols, need_kprobes};
use q2c_host::Roots;
use q2c_host::block::Disk;
use std::process;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tag_waits.bpf.o"));

/// Length of the program's slices of time, ns.
pub const SLICE_NS: u64 = 10_000_000;

const PROBED_FUNCTIONS: [(&str, &str); 2] = [
    ("sleeps", "io_schedule"),
    ("look_for_tag", "blk_mq_get_tag"),
];
/// The bit of a queue's number that the program sets for the tags of the I/O scheduler.
const SCHEDULER_BIT: u64 = 1 << 31;

/// Sleeps of one thread for a request of one hardware queue, in one slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagWait {
    /// The thread.
    pub tid: u32,
    /// Begin of the slice in which the waits began, ns of CLOCK_MONOTONIC.
    pub slice_ns: u64,
    /// The hardware queue at which the thread began to look for a request.
    pub queue: u32,
    /// True if the thread waited for a tag of the I/O scheduler.
    pub of_scheduler: bool,
    /// Times that the thread slept. An I/O may sleep several times.
    pub sleeps: u64,
    /// Sum of the times from the first sleep for a request until the thread got it, ns.
    pub ns: u64,
}

/// The sleeps since the probe was attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagWaitCounts {
    /// Sleeps at the disk's hardware queues.
    pub waits: Vec<TagWait>,
    /// Sleeps for which the probe had no room.
    pub lost: u64,
}

/// An attached probe.
pub struct TagWaitProbe {
    object: Object,
}

/// The program's `struct place`: the queue, with the thread in the upper half; the slice.
type TagWaitKey = [u64; 2];
/// The program's `struct slept`: sleeps, and their time, ns.
type SleepSum = [u64; 2];

impl TagWaitProbe {
    /// Begins to watch the threads of this process at one disk.
    pub fn attach(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        need_kprobes(roots)?;
        let symbols = Symbols::read(roots)?;
        for (_, function) in PROBED_FUNCTIONS {
            symbols.present(&[function])?;
        }
        let pid = process::id();
        let mut object = Object::load(roots, OBJECT, &disk.dev, |loader| {
            loader.override_global("wanted_pid", &pid, /* must_exist */ true);
        })?;
        // The kernel refuses a program that reads an argument that its tracepoint does not have.
        if !object.try_attaching("issue_two", "block_rq_issue")? {
            object.attach_tracepoint("issue_one", "block_rq_issue")?;
        }
        object.attach_tracepoint("has_request", "block_getrq")?;
        for (program, function) in PROBED_FUNCTIONS {
            object.attach_functions(program, &[function])?;
        }
        Ok(TagWaitProbe { object })
    }

    /// The sleeps since the probe was attached. Waits that have not ended are not in it.
    pub fn read(&self) -> Result<TagWaitCounts, ProbeError> {
        let counted: Vec<(TagWaitKey, SleepSum)> = self.object.entries("counted")?;
        Ok(TagWaitCounts {
            waits: counted.into_iter().map(wait).collect(),
            lost: self.object.sum("lost")?,
        })
    }
}

fn wait(([place, slice], [sleeps, ns]): (TagWaitKey, SleepSum)) -> TagWait {
    let queue = place & 0xffff_ffff;
    TagWait {
        tid: (place >> 32) as u32,
        slice_ns: slice * SLICE_NS,
        queue: (queue & !SCHEDULER_BIT) as u32,
        of_scheduler: queue & SCHEDULER_BIT != 0,
        sleeps,
        ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values laid out by hand as in `struct place` and `struct slept`.
    #[test]
    fn sleeps_of_a_thread_at_a_queue() {
        let wanted = TagWait {
            tid: 4_711,
            slice_ns: 70_000_000,
            queue: 3,
            of_scheduler: true,
            sleeps: 2,
            ns: 900,
        };
        let place = 4_711 << 32 | 0x8000_0003;
        assert_eq!(wait(([place, 7], [2, 900])), wanted);
        let of_driver = TagWait {
            of_scheduler: false,
            ..wanted
        };
        assert_eq!(wait(([4_711 << 32 | 3, 7], [2, 900])), of_driver);
    }
}

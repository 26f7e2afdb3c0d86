//! Every completed request of one device with its time from the hand-over to the driver to the completion, as the kernel's own
//! statistics count it. From Linux 5.8.

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use aya::maps::{MapData, PerCpuArray, RingBuf};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::{Nanos, Op};

/// The compiled program.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/latency.bpf.o"));

/// A request that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When, on CLOCK_MONOTONIC.
    pub at: Nanos,
    /// From its hand-over to the driver.
    pub latency: Nanos,
    /// Bytes that completed.
    pub bytes: u32,
    /// What it did.
    pub op: Op,
}

/// What was not seen, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// There was no room for it.
    pub no_room: u64,
    /// Completed without having been seen issued: in flight when the probe began, or without room then.
    pub unpaired: u64,
}

/// The probe at work.
pub struct Latency {
    object: Object,
    ring: RingBuf<MapData>,
}

impl Latency {
    /// Begins to watch a disk.
    ///
    /// # Errors
    /// A permission is lacking, or the kernel refuses.
    pub fn attach(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let mut object = Object::load(roots, OBJECT, disk.dev, None)?;
        object.on_known_tracepoint("complete", "block_rq_complete")?;
        // The kernel refuses a program that reads an argument that its tracepoint does not have.
        if !object.on_tracepoint("issue_two", "block_rq_issue")? {
            object.on_known_tracepoint("issue_one", "block_rq_issue")?;
        }
        let ring = object.ebpf.take_map("completions");
        let ring = RingBuf::try_from(ring.expect("a map of the object"));
        let ring = ring.map_err(|error| object.unread(&error))?;
        Ok(Latency { object, ring })
    }

    /// The next request that completed; `None` when there is none yet. In the order of their places in the ring: times of
    /// different CPUs may be some microseconds out of order.
    pub fn completed(&mut self) -> Option<Completion> {
        self.ring.next().and_then(|item| decoded(&item))
    }

    /// What was not seen since the beginning.
    ///
    /// # Errors
    /// The kernel's map cannot be read.
    pub fn lost(&self) -> Result<Lost, ProbeError> {
        let map = self.object.ebpf.map("losses").expect("a map of the object");
        let read = || {
            let losses = PerCpuArray::<&MapData, [u64; 2]>::try_from(map)?;
            losses.get(&0, 0)
        };
        let cpus = read().map_err(|error| self.object.unread(&error))?;
        let sum = |n: usize| cpus.iter().map(|cpu| cpu[n]).sum();
        Ok(Lost {
            no_room: sum(0),
            unpaired: sum(1),
        })
    }
}

/// The program's `struct completion`; `None` when it is cut short.
fn decoded(item: &[u8]) -> Option<Completion> {
    let long = |at: usize| Some(u64::from_ne_bytes(item.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_ne_bytes(item.get(at..at + 4)?.try_into().ok()?));
    Some(Completion {
        at: Nanos(long(0)?),
        latency: Nanos(long(8)?),
        bytes: short(16)?,
        op: op(short(20)?),
    })
}

/// `enum req_op` (include/linux/blk_types.h): 3 and 5 are the discards, 2 the flush.
fn op(code: u32) -> Op {
    match code {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Flush,
        3 | 5 => Op::Discard,
        _ => Op::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_ring() {
        let mut item = Vec::new();
        item.extend(7_000_000_u64.to_ne_bytes());
        item.extend(81_500_u64.to_ne_bytes());
        item.extend(4_096_u32.to_ne_bytes());
        item.extend(1_u32.to_ne_bytes());
        let wanted = Completion {
            at: Nanos(7_000_000),
            latency: Nanos(81_500),
            bytes: 4_096,
            op: Op::Write,
        };
        assert_eq!(decoded(&item), Some(wanted));
        assert_eq!(decoded(&item[..20]), None);
    }
}

//! Watches every completed request of one device, with its latency: the time from the hand-over to
//! the driver to the completion, which is what the kernel's own statistics count. It needs Linux
//! 5.8.

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use aya::maps::{MapData, RingBuf};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::{DevId, Nanos, Op};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/latency.bpf.o"));

/// A request that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Time of the completion on CLOCK_MONOTONIC.
    pub at: Nanos,
    /// Time from the hand-over to the driver to the completion.
    pub latency: Nanos,
    /// Bytes that this completion covered.
    pub bytes: u32,
    /// Operation of the request.
    pub op: Op,
    /// Id of the thread that issued the request to the driver.
    pub tid: u32,
    /// True if the submitter polls for the request.
    pub polled: bool,
}

/// Counts of requests for which there is no [`Completion`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyLosses {
    /// Requests for which there was no room, in the table of requests in flight or in the ring.
    pub no_room: u64,
    /// Requests that completed without having been seen issued: they were in flight when the probe
    /// began, or found no room when they were issued.
    pub unpaired: u64,
}

/// An attached probe. [`LatencyProbe::next_completion`] must be called often enough that the ring
/// (1 MiB) does not fill.
pub struct LatencyProbe {
    object: Object,
    ring: RingBuf<MapData>,
}

impl LatencyProbe {
    /// Begins to watch a disk.
    pub fn attach(roots: &Roots, disk: &Disk) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let mut object = Object::load(roots, OBJECT, &disk.dev, |_loader| ())?;
        object.attach_tracepoint("complete", "block_rq_complete")?;
        // The kernel refuses a program that reads an argument that its tracepoint does not have.
        if !object.try_attaching("issue_two", "block_rq_issue")? {
            object.attach_tracepoint("issue_one", "block_rq_issue")?;
        }
        let ring = object.ebpf.take_map("completions");
        let ring = RingBuf::try_from(ring.expect("a map of the object"));
        let ring = ring.map_err(|error| object.unreadable_map(&error))?;
        Ok(LatencyProbe { object, ring })
    }

    /// Loads the probe's maps and a program, and removes them again, to find out whether BPF can be
    /// used here.
    pub fn try_to_load(roots: &Roots) -> Result<(), ProbeError> {
        permission::check(roots)?;
        let mut object = Object::load(roots, OBJECT, &DevId::default(), |_loader| ())?;
        object.attach_tracepoint("complete", "block_rq_complete")
    }

    /// The next request that completed; `None` when there is none yet. Requests come in the order
    /// of their places in the ring, so that times of different CPUs may be some microseconds out of
    /// order.
    pub fn next_completion(&mut self) -> Option<Completion> {
        self.ring.next().and_then(|item| decode(&item))
    }

    /// Counts of requests that were not seen since the probe was attached.
    pub fn losses(&self) -> Result<LatencyLosses, ProbeError> {
        let mut losses = LatencyLosses::default();
        for [no_room, unpaired] in self.object.per_cpu::<[u64; 2]>("losses")?.iter() {
            losses.no_room += no_room;
            losses.unpaired += unpaired;
        }
        Ok(losses)
    }
}

/// Decodes the program's `struct completion`; `None` when the item is too short.
fn decode(item: &[u8]) -> Option<Completion> {
    let long = |at: usize| Some(u64::from_ne_bytes(item.get(at..at + 8)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(item.get(at..at + 4)?.try_into().ok()?));
    Some(Completion {
        at: Nanos(long(0)?),
        latency: Nanos(long(8)?),
        bytes: word(16)?,
        op: op(word(20)?),
        tid: word(24)?,
        polled: word(28)? != 0,
    })
}

/// The operation of a code of `enum req_op` (include/linux/blk_types.h): 2 is the flush, 3 and 5
/// are discards.
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
        item.extend([7_000_000_u64, 81_500].map(u64::to_ne_bytes).concat());
        item.extend([4_096_u32, 1, 4_711, 1].map(u32::to_ne_bytes).concat());
        let wanted = Completion {
            at: Nanos(7_000_000),
            latency: Nanos(81_500),
            bytes: 4_096,
            op: Op::Write,
            tid: 4_711,
            polled: true,
        };
        assert_eq!(decode(&item), Some(wanted));
        assert_eq!(decode(&item[..28]), None);
    }
}

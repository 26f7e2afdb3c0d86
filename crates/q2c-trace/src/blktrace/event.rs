//! One event of the block layer, with its action and category bits; the kernel's tracepoints; and
//! the letters that describe a request.

use super::context::BlktraceLosses;
use q2c_model::{Bytes, DevId, Op, OpFlags};

/// Action numbers: the low 16 bits of a record's action, without the cgroup bit.
pub mod action {
    /// Q: the bio was queued.
    pub const QUEUE: u16 = 1;
    /// M: a bio or a request was merged to the back of a request.
    pub(crate) const BACK_MERGE: u16 = 2;
    /// F: a bio or a request was merged to the front of a request.
    pub(crate) const FRONT_MERGE: u16 = 3;
    /// G: a request was allocated.
    pub(crate) const GET_REQUEST: u16 = 4;
    /// S: a process slept until a request was free.
    pub(crate) const SLEEP: u16 = 5;
    /// R: the driver gave the request back.
    pub(crate) const REQUEUE: u16 = 6;
    /// D: the request was handed to the driver.
    pub const ISSUE: u16 = 7;
    /// C: the request, or its first part, completed.
    pub const COMPLETE: u16 = 8;
    /// P: the queue was plugged.
    pub(crate) const PLUG: u16 = 9;
    /// U: the queue was unplugged.
    pub(crate) const UNPLUG: u16 = 10;
    /// UT: the queue was unplugged by a timer.
    pub(crate) const UNPLUG_TIMER: u16 = 11;
    /// I: the request was inserted into the scheduler.
    pub(crate) const INSERT: u16 = 12;
    /// X: the bio was split.
    pub const SPLIT: u16 = 13;
    /// B: the bio was copied to memory that the device can reach.
    pub(crate) const BOUNCE: u16 = 14;
    /// A: the bio was mapped from another device.
    pub(crate) const REMAP: u16 = 15;
    /// This bit in the low 16 bits says that the payload begins with a cgroup id.
    pub(crate) const CGROUP: u16 = 0x100;
}

/// Category bits: the upper bits of a record's action.
#[expect(missing_docs, reason = "the kernel's names")]
pub mod category {
    pub(crate) const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    /// Flush before the data.
    pub(crate) const FLUSH: u32 = 1 << 2;
    /// Synchronous: a process waits for the request.
    pub const SYNC: u32 = 1 << 3;
    /// Passthrough command.
    pub const PC: u32 = 1 << 9;
    /// The record is a note, not an event: a process name, the start time, or a message.
    pub(crate) const NOTIFY: u32 = 1 << 10;
    pub(crate) const AHEAD: u32 = 1 << 11;
    pub(crate) const META: u32 = 1 << 12;
    pub(crate) const DISCARD: u32 = 1 << 13;
    pub(crate) const FUA: u32 = 1 << 15;
    /// Version 8 only: zone append, reset, reset all, finish, open, close.
    pub(crate) const ZONE: u32 = 0x3f << 16;
    /// Set by readers, never in a record: the event's time was below that of an earlier event,
    /// which replaced it.
    pub(crate) const UNTIMED: u32 = 1 << 31;
}

/// A record without its payload, in this machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlktraceEvent {
    /// Time, ns on the traced machine's monotonic clock.
    pub time: u64,
    /// First sector (512 B).
    pub sector: u64,
    /// Length, bytes.
    pub bytes: u32,
    /// One of [`action`], without the cgroup bit.
    pub action: u16,
    /// Errno of a completion, positive or (by the kernel) negative in 16 bits; 0 for success.
    pub error: u16,
    /// [`category`] bits.
    pub category: u32,
    /// Process id. A completion has that of the interrupted process.
    pub pid: u32,
    /// Device number as the kernel packs it: major << 20 | minor.
    pub device: u32,
    /// CPU on which the event happened.
    pub cpu: u32,
    /// Number of the record, counted from 1 for each device and CPU; 0 for notes.
    pub sequence: u32,
    /// For a split, the first sector of the second part; else 0.
    pub split_at: u64,
    /// Cgroup id; 0 if unknown.
    pub cgroup: u64,
}

impl BlktraceEvent {
    /// Raises the time to that of the previous event, `last_ns`, if it is earlier.
    pub(crate) fn raise_time(&mut self, last_ns: u64, losses: &mut BlktraceLosses) {
        if self.time < last_ns {
            losses.count("time went back", 1);
            self.time = last_ns;
            self.category |= category::UNTIMED;
        }
    }

    /// The sector after the event's last one.
    pub(crate) const fn end(&self) -> u64 {
        self.sector
            .saturating_add((self.bytes as u64).div_ceil(512))
    }

    /// The device number as major and minor.
    pub const fn device(&self) -> DevId {
        let (major, minor) = (self.device >> 20, self.device & 0xf_ffff);
        DevId { major, minor }
    }
}

pub(crate) const fn op(category: u32, bytes: u32) -> Op {
    if category & (category::PC | category::ZONE) != 0 {
        Op::Other
    } else if category & category::DISCARD != 0 {
        Op::Discard
    } else if bytes == 0 && category & category::FLUSH != 0 {
        Op::Flush
    } else if category & category::WRITE != 0 {
        Op::Write
    } else if category & category::READ != 0 {
        Op::Read
    } else {
        Op::Other
    }
}

pub(crate) fn flags(category: u32) -> OpFlags {
    const MAP: [(u32, OpFlags); 5] = [
        (category::SYNC, OpFlags::SYNC),
        (category::META, OpFlags::META),
        (category::FUA, OpFlags::FUA),
        (category::AHEAD, OpFlags::READAHEAD),
        (category::UNTIMED, OpFlags::UNTIMED),
    ];
    let set = MAP.iter().filter(|(bit, _)| category & bit != 0);
    set.fold(OpFlags(0), |flags, (_, flag)| flags.union(*flag))
}

/// Tracepoints, each with its action. Every kernel lacks some of them.
pub const TRACEPOINTS: [(&str, u16); 11] = [
    ("block_bio_queue", action::QUEUE),
    ("block_getrq", action::GET_REQUEST),
    ("block_bio_backmerge", action::BACK_MERGE),
    ("block_bio_frontmerge", action::FRONT_MERGE),
    ("block_rq_merge", action::BACK_MERGE),
    ("block_split", action::SPLIT),
    ("block_rq_insert", action::INSERT),
    ("block_rq_issue", action::ISSUE),
    ("block_rq_requeue", action::REQUEUE),
    ("block_rq_complete", action::COMPLETE),
    ("block_bio_complete", action::COMPLETE),
];

/// Converts RWBS letters (blk_fill_rwbs) to a category: F for a preceding flush, then one of R W D
/// F N, or Z and a letter, then F A S M and others. The result is 0 for an operation without its
/// own letter, which is passthrough.
pub fn category_of_rwbs(text: &[u8]) -> u32 {
    let (preflush, text) = match text {
        [b'F', rest @ ..] if rest.first().is_some_and(|c| b"RWDFNZ".contains(c)) => {
            (category::FLUSH, rest)
        }
        text => (0, text),
    };
    let (kind, flag_letters) = match text {
        [b'R', rest @ ..] => (category::READ, rest),
        [b'W', rest @ ..] => (category::WRITE, rest),
        [b'D', rest @ ..] => (category::DISCARD | category::WRITE, rest),
        [b'F', rest @ ..] => (category::FLUSH, rest),
        [b'Z', _, ..] => return preflush | category::ZONE,
        // For N or an unknown letter, only a preceding flush gives a category.
        _ => return preflush,
    };
    let flags = flag_letters.iter().map(|letter| match letter {
        b'F' => category::FUA,
        b'A' => category::AHEAD,
        b'S' => category::SYNC,
        b'M' => category::META,
        _ => 0,
    });
    flags.fold(preflush | kind, |bits, flag| bits | flag)
}

pub(crate) fn kind_of_rwbs(text: &[u8], bytes: Bytes) -> (Op, OpFlags) {
    let category = category_of_rwbs(text);
    let bytes = u32::try_from(bytes.0).unwrap_or(u32::MAX);
    (op(category, bytes), flags(category))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were derived by hand from the kernel's blk_fill_rwbs.
    #[test]
    fn letters() {
        for (text, wanted) in [
            (&b"R"[..], category::READ),
            (b"RA", category::READ | category::AHEAD),
            (b"RSM", category::READ | category::SYNC | category::META),
            (b"WFS", category::WRITE | category::FUA | category::SYNC),
            (
                b"FWFS",
                category::FLUSH | category::WRITE | category::FUA | category::SYNC,
            ),
            (b"FF", category::FLUSH),
            (b"F", category::FLUSH),
            (b"FS", category::FLUSH | category::SYNC),
            (b"DE", category::DISCARD | category::WRITE),
            (b"ZA", category::ZONE),
            (b"N", 0),
        ] {
            assert_eq!(category_of_rwbs(text), wanted, "{}", text.escape_ascii());
        }
    }
}

//! Decodes the records of the BPF program: `struct io` of `probes/block_io/record.h`.

use q2c_model::{DevId, Layer, Op, OpFlags};
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::{NONE, NONE_32};

/// Bytes of a record, `sizeof(struct io)`.
pub(super) const RECORD_BYTES: usize = 128;

/// Decodes a record; `None` when the item is not [`RECORD_BYTES`] bytes long.
pub(super) fn decode(item: &[u8]) -> Option<RecordedIo> {
    let raw: &[u8; RECORD_BYTES] = item.try_into().ok()?;
    let long = |n: usize| u64::from_ne_bytes(std::array::from_fn(|at| raw[8 * n + at]));
    let word = |n: usize| u32::from_ne_bytes(std::array::from_fn(|at| raw[72 + 4 * n + at]));
    let time = |n: usize| Some(long(n)).filter(|ns| *ns != 0).unwrap_or(NONE);
    let number_or_none = |n: u32| if n.cast_signed() < 0 { NONE_32 } else { n };
    let device = word(1);
    let span = Span {
        id: 0,
        layer: Layer::Block,
        device: DevId {
            major: device >> 20,
            minor: device & 0xf_ffff,
        },
        op: op(raw[108]),
        flags: OpFlags(u32::from(u16::from_ne_bytes([raw[110], raw[111]]))),
        sector: long(7),
        bytes: u64::from(word(0)),
        begin_ns: time(2),
        submit_end_ns: NONE,
        getrq_ns: time(3),
        insert_ns: time(4),
        issue_ns: time(5),
        end_ns: time(6),
        merged_into: NONE,
        cgroup: long(8),
        lane: 0,
        depth_at_submit: 0,
        pid: word(2),
        cpu_submit: word(4),
        cpu_complete: word(5),
        hctx: number_or_none(word(6)),
        tag: number_or_none(word(7)),
        error: errno(word(8).cast_signed()),
    };
    Some(RecordedIo {
        span,
        key: long(0),
        lead: long(1),
        carries: raw[109] != 0,
        tid: word(3),
        comm: std::array::from_fn(|at| raw[112 + at]),
    })
}

const fn op(code: u8) -> Op {
    match code {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Flush,
        3 => Op::Discard,
        _ => Op::Other,
    }
}

/// The negative errno of a completion. Until about 5.16 the tracepoint gives a negative errno,
/// since then a positive `blk_status_t` (include/linux/blk_types.h).
const fn errno(error: i32) -> i32 {
    match error {
        ..=0 => error,
        1 => -95,  // EOPNOTSUPP
        2 => -110, // ETIMEDOUT
        3 => -28,  // ENOSPC
        4 => -67,  // ENOLINK
        5 => -121, // EREMOTEIO
        6 => -52,  // EBADE
        7 => -61,  // ENODATA: a sector that cannot be read
        8 => -84,  // EILSEQ
        9 => -12,  // ENOMEM
        12 => -11, // EAGAIN
        13 => -16, // EBUSY
        _ => -5,   // EIO, and those whose numbers differ between kernels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record is laid out by hand, field by field, as in record.h.
    #[test]
    fn a_record_of_the_ring() {
        let mut raw = Vec::new();
        for long in [0xffff_8880_u64, 0, 1_000, 1_100, 0, 1_300, 9_000, 2048, 77] {
            raw.extend(long.to_ne_bytes());
        }
        for word in [8192_u32, 259 << 20 | 5, 42, 43, 1, 3, 2, 17, 7] {
            raw.extend(word.to_ne_bytes());
        }
        raw.extend([1, 1]);
        raw.extend(5_u16.to_ne_bytes());
        raw.extend(*b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(raw.len(), RECORD_BYTES);
        let io = decode(&raw).expect("whole");
        let span = io.span;
        let expected = (0xffff_8880, 0, true, 43);
        assert_eq!((io.key, io.lead, io.carries, io.tid), expected);
        let (major, minor) = (259, 5);
        assert_eq!(span.device, DevId { major, minor });
        assert_eq!(span.op, Op::Write);
        assert_eq!(span.flags, OpFlags::SYNC.union(OpFlags::FUA));
        let expected = (1_000, 1_100, NONE);
        assert_eq!((span.begin_ns, span.getrq_ns, span.insert_ns), expected);
        assert_eq!((span.issue_ns, span.end_ns), (1_300, 9_000));
        assert_eq!((span.sector, span.bytes, span.cgroup), (2048, 8192, 77));
        assert_eq!((span.pid, span.cpu_submit, span.cpu_complete), (42, 1, 3));
        assert_eq!((span.hctx, span.tag, span.error), (2, 17, -61));
        assert_eq!(&io.comm[..4], b"fio\0");
        assert_eq!(decode(&raw[1..]), None);
    }

    #[test]
    fn no_queue_and_no_tag() {
        let mut raw = [0; RECORD_BYTES];
        raw[96..104].fill(0xff);
        raw[104..108].copy_from_slice(&(-5_i32).to_ne_bytes());
        let span = decode(&raw).expect("whole").span;
        assert_eq!((span.hctx, span.tag, span.error), (NONE_32, NONE_32, -5));
    }
}

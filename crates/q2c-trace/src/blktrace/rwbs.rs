//! The kernel's block tracepoints, and the letters with which they tell the kind of a request.

use super::event::{action, category, flags, op};
use q2c_model::{Bytes, Op, OpFlags};

/// Tracepoints and the action that each stands for. Each kernel lacks some of them.
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

/// The category of the letters (blk_fill_rwbs): F for a flush before, then one of R W D F N, or Z
/// and a letter, then F A S M and others. The result is 0 for an operation without a letter of its
/// own, which is passthrough.
pub fn category_of_rwbs(text: &[u8]) -> u32 {
    let (before, text) = match text {
        [b'F', rest @ ..] if rest.first().is_some_and(|c| b"RWDFNZ".contains(c)) => {
            (category::FLUSH, rest)
        }
        text => (0, text),
    };
    let (kind, rest) = match text {
        [b'R', rest @ ..] => (category::READ, rest),
        [b'W', rest @ ..] => (category::WRITE, rest),
        [b'D', rest @ ..] => (category::DISCARD | category::WRITE, rest),
        [b'F', rest @ ..] => (category::FLUSH, rest),
        [b'Z', _, ..] => return before | category::ZONE,
        // N or an unknown letter: there is no category but that of a flush before it.
        _ => return before,
    };
    let flags = rest.iter().map(|letter| match letter {
        b'F' => category::FUA,
        b'A' => category::AHEAD,
        b'S' => category::SYNC,
        b'M' => category::META,
        _ => 0,
    });
    flags.fold(before | kind, |bits, flag| bits | flag)
}

pub(crate) fn kind_of_rwbs(text: &[u8], bytes: Bytes) -> (Op, OpFlags) {
    let category = category_of_rwbs(text);
    let bytes = u32::try_from(bytes.0).unwrap_or(u32::MAX);
    (op(category, bytes), flags(category))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are worked out by hand from the kernel's blk_fill_rwbs.
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

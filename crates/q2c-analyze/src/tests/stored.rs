//! The serialised form of an analysis.

use super::by_time::parts;
use super::made::trace;
use super::{CASES, feed, finished};
use crate::Analyzer;
use proptest::prelude::*;
use q2c_model::stored::{StoredError, StoredMistake};
use q2c_model::{Bytes, DevId, Fault, IoRecord, Layer, Op, Sectors};
use q2c_trace::Span;

pub(super) fn read(id: u64, begin_ns: u64, end_ns: u64) -> Span {
    let (device, sector) = (DevId { major: 8, minor: 0 }, Sectors(id * 8));
    let record = IoRecord::new(id, Layer::Block, device, Op::Read, sector, Bytes(4096));
    Span {
        begin_ns,
        getrq_ns: begin_ns + 1,
        issue_ns: begin_ns + 2,
        end_ns,
        pid: 1,
        cpu_submit: 0,
        cpu_complete: 0,
        hctx: 0,
        ..Span::from_record(&record)
    }
}

fn bytes(analyzer: &Analyzer) -> Vec<u8> {
    analyzer.to_bytes().expect("an analysis has bytes")
}

fn refused(bytes: &[u8]) -> Fault {
    match Analyzer::from_bytes(bytes) {
        Err(error) => error,
        Ok(_) => panic!("{} bytes were taken", bytes.len()),
    }
}

fn is_length(fault: &Fault) -> bool {
    let stored: Option<&StoredError> = fault.cause();
    stored.is_some_and(|error| matches!(error.reason, StoredMistake::Length { .. }))
}

/// Recomputes the checksum of the bytes after the header (24 bytes), as a forger would.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes[24..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn damage_is_an_error(spans in trace(true), place in any::<u32>(), bit in 0..8u32) {
        let whole = bytes(&feed(Analyzer::new(Layer::Block), &spans, 9));
        let place = place as usize % whole.len();
        refused(&whole[..place]);
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << bit;
        refused(&damaged);
        damaged[place] ^= 1 << bit;
        damaged.push(0);
        let error = refused(&damaged);
        prop_assert!(is_length(&error), "{error}");
    }

    /// Wrong content with a correct checksum fails to load, or can be joined and finished.
    #[test]
    fn forged_states_do_not_panic(
        spans in trace(true),
        head in 0..40usize,
        changes in prop::collection::vec((any::<u32>(), any::<u8>()), 1..4),
    ) {
        let half = spans.len() / 2;
        for part in parts(&[&spans[..half], &spans[half..]], &[head]) {
            let mut changed = bytes(&part);
            for (place, byte) in &changes {
                let place = 24 + *place as usize % (changed.len() - 24);
                changed[place] = *byte;
            }
            if let Ok(forged) = Analyzer::from_bytes(&with_checksum(changed)) {
                finished(forged.clone());
                for (one, two) in [(&forged, &part), (&part, &forged)] {
                    let joined = one.clone().append(two.clone());
                    let merged = one.clone().merge_devices(two.clone());
                    for both in [joined, merged].into_iter().flatten() {
                        finished(both);
                    }
                }
            }
        }
    }
}

#[test]
fn errors_name_what_was_expected_and_found() {
    let whole = bytes(&feed(Analyzer::new(Layer::Block), &[read(0, 10, 20)], 1));
    let assert_refused = |bytes: &[u8], expected: &str| {
        let error = refused(bytes).to_string();
        assert!(error.contains(expected), "{error}");
    };
    assert_refused(b"{\"schema\": 1}", "found 13 bytes of another kind");
    let mut newer = whole.clone();
    newer[8] = 7;
    assert_refused(&newer, "expected version 2, found version 7");
    let (behind, left) = (whole.len() - 24, whole.len() - 27);
    let cut = format!("expected {behind} bytes behind the header, found {left}");
    assert_refused(&whole[..whole.len() - 3], &cut);
}

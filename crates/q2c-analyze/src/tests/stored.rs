//! The serialised form.

use super::by_time::parts;
use super::made::trace;
use super::{CASES, fed, finished};
use crate::Analyzer;
use proptest::prelude::*;
use q2c_model::stored::{StoredError, Unstored};
use q2c_model::{DevId, Fault, Layer, Op, OpFlags};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};

/// A read of 4 KiB in flight between these times.
pub(super) fn read(id: u64, begin_ns: u64, end_ns: u64) -> Span {
    Span {
        id,
        layer: Layer::Block,
        device: DevId { major: 8, minor: 0 },
        op: Op::Read,
        flags: OpFlags(0),
        sector: id * 8,
        bytes: 4096,
        begin_ns,
        submit_end_ns: NONE,
        getrq_ns: begin_ns + 1,
        insert_ns: NONE,
        issue_ns: begin_ns + 2,
        end_ns,
        merged_into: NONE,
        cgroup: 0,
        lane: 0,
        depth_at_submit: 1,
        pid: 1,
        cpu_submit: 0,
        cpu_complete: 0,
        hctx: 0,
        tag: NONE_32,
        error: 0,
    }
}

fn bytes(analyzer: &Analyzer) -> Vec<u8> {
    analyzer.to_bytes().expect("an analysis has bytes")
}

/// The error that these bytes give.
fn refused(bytes: &[u8]) -> Fault {
    match Analyzer::from_bytes(bytes) {
        Err(error) => error,
        Ok(_) => panic!("{} bytes were taken", bytes.len()),
    }
}

fn is_length(fault: &Fault) -> bool {
    let stored: Option<&StoredError> = fault.cause();
    stored.is_some_and(|error| matches!(error.why, Unstored::Length { .. }))
}

/// Writes the checksum anew, as one who changes a state on purpose does.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes[24..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// A state that is cut off anywhere, or in which a bit is another, is refused.
    #[test]
    fn damage_is_an_error(spans in trace(true), place in any::<u32>(), bit in 0..8u32) {
        let whole = bytes(&fed(Analyzer::new(Layer::Block), &spans, 9));
        let place = place as usize % whole.len();
        refused(&whole[..place]);
        let mut other = whole.clone();
        other[place] ^= 1 << bit;
        refused(&other);
        other[place] ^= 1 << bit;
        other.push(0);
        let error = refused(&other);
        prop_assert!(is_length(&error), "{error}");
    }

    /// Bytes with a right checksum and wrong content are refused, or they are those of an analysis
    /// that can be joined and told.
    #[test]
    fn forged_states_do_not_panic(
        spans in trace(true),
        head in 0..40usize,
        changes in prop::collection::vec((any::<u32>(), any::<u8>()), 1..4),
    ) {
        let half = spans.len() / 2;
        for part in parts(&[&spans[..half], &spans[half..]], &[head]) {
            let mut other = bytes(&part);
            for (place, byte) in &changes {
                let place = 24 + *place as usize % (other.len() - 24);
                other[place] = *byte;
            }
            if let Ok(forged) = Analyzer::from_bytes(&sealed(other)) {
                finished(forged.clone());
                for (one, two) in [(&forged, &part), (&part, &forged)] {
                    one.clone().then(two.clone()).into_iter().for_each(|both| {
                        finished(both);
                    });
                    one.clone().beside(two.clone()).into_iter().for_each(|both| {
                        finished(both);
                    });
                }
            }
        }
    }
}

#[test]
fn errors_name_what_was_expected_and_found() {
    let whole = bytes(&fed(Analyzer::new(Layer::Block), &[read(0, 10, 20)], 1));
    let told = |bytes: &[u8]| refused(bytes).to_string();
    assert_eq!(
        told(b"{\"schema\": 1}"),
        "read the state of an analysis: expected bytes that begin with \"q2cstate\" and 24 bytes at least, found 13 bytes of another kind"
    );
    let mut newer = whole.clone();
    newer[8] = 7;
    assert_eq!(
        told(&newer),
        "read the state of an analysis: expected version 2, found version 7; make it anew with this version of q2c"
    );
    let behind = whole.len() - 24;
    assert_eq!(
        told(&whole[..whole.len() - 3]),
        format!(
            "read the state of an analysis: expected {behind} bytes behind the header, found {}; copy it again",
            behind - 3
        )
    );
}

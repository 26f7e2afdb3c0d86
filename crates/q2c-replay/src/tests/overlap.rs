//! The order of requests that overlap.

use super::trace::write_records;
use super::{plan, run};
use crate::{Wanted, prepare};
use q2c_model::replay::{Mode, Writes};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use std::sync::atomic::AtomicBool;

/// A replay on three real threads of writes and reads that overlap: wherever two overlap, they are
/// submitted in the order of the trace.
#[test]
fn overlapping_requests_of_several_threads_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let mut rng = q2c_stats::Rng::new(5);
    let record = |id: u64| {
        let (sector, bytes) = (
            Sectors(rng.below(400) * 1024),
            Bytes(4096 + rng.below(200) * 4096),
        );
        let op = if rng.below(2) == 0 {
            Op::Read
        } else {
            Op::Write
        };
        let plain = IoRecord::new(
            id,
            Layer::Block,
            DevId { major: 8, minor: 0 },
            op,
            sector,
            bytes,
        );
        IoRecord {
            queue_ns: Some(Nanos(id * 2_000)),
            ..plain
        }
    };
    let records: Vec<IoRecord> = (0..20_000).map(record).collect();
    write_records(&path, &records);
    let stop = AtomicBool::new(false);
    let facts = prepare(&path, &Wanted::default(), &stop, |_| {}).unwrap();
    let mut plan = plan(Mode::Timed { speed: 1.0 });
    plan.permits.writes = Writes::Allow;
    (plan.submitters, plan.memory.size) = (3, 1 << 20);
    let mut back: Vec<IoRecord> = Vec::new();
    let done = run(&plan, &facts, &mut back, &stop);
    assert_eq!(
        (done.counts.issued, done.counts.errors, done.rows_lost),
        (20_000, 0, 0)
    );
    assert!(done.complete && done.counts.inversions == 0);
    let mut at = vec![u64::MAX; 20_000];
    // Records are sorted by time and do not hold the trace's number, so a request is found by
    // place, length and operation.
    let mut left: std::collections::HashMap<(u64, u64, Op), Vec<u64>> = Default::default();
    for record in &back {
        let key = (record.sector.0, record.bytes.0, record.op);
        left.entry(key)
            .or_default()
            .push(record.submit_ns.unwrap().0);
    }
    for (record, at) in records.iter().zip(&mut at) {
        let key = (record.sector.0, record.bytes.0, record.op);
        *at = left.get_mut(&key).unwrap().remove(0);
    }
    let mut overlaps = 0;
    for (i, one) in records.iter().enumerate() {
        for (j, other) in records.iter().enumerate().skip(i + 1).take(400) {
            let ends = |r: &IoRecord| r.sector.0 + r.bytes.0 / 512;
            let overlap = one.sector.0 < ends(other) && other.sector.0 < ends(one);
            if overlap && (one.op == Op::Write || other.op == Op::Write) {
                overlaps += 1;
                assert!(at[i] <= at[j], "{i} at {}, {j} at {}", at[i], at[j]);
            }
        }
    }
    assert!(overlaps > 1000, "{overlaps}");
}

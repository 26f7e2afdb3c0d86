//! Traces with offsets and times that no device has.

use super::trace::write_records;
use super::{plan, run};
use crate::{Wanted, prepare};
use q2c_model::replay::{Count, Fit, Idle, Mode};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use std::sync::atomic::AtomicBool;

/// A trace with offsets and times beyond all bounds is replayed, and nothing breaks.
#[test]
fn places_and_times_beyond_all_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let far = [
        (0, 0),
        (u64::MAX / 512, 1),
        (u64::MAX - 1, u64::MAX - 2),
        (1, u64::MAX - 1),
    ];
    let record = |(id, (sector, time)): (usize, &(u64, u64))| {
        let dev = DevId {
            major: id as u32,
            minor: u32::MAX,
        };
        let plain = IoRecord::new(
            id as u64,
            Layer::Block,
            dev,
            Op::Read,
            Sectors(*sector),
            Bytes(u64::MAX - 1),
        );
        IoRecord {
            queue_ns: Some(Nanos(*time)),
            complete_ns: Some(Nanos(*time)),
            ..plain
        }
    };
    let records: Vec<IoRecord> = far.iter().enumerate().map(record).collect();
    write_records(&path, &records);
    let stop = AtomicBool::new(false);
    let facts = prepare(&path, &Wanted::default(), &stop, |_| {}).unwrap();
    for fit in [Fit::Modulo, Fit::Clip, Fit::Scale, Fit::Dense] {
        let mut plan = plan(Mode::Outstanding {
            count: Count::Bytes,
            idle: Idle::Squeeze,
        });
        plan.fit = fit;
        plan.targets[0].size = Bytes(1 << 30);
        plan.targets[0].devices = (0..facts.devices.len()).collect();
        let mut back: Vec<IoRecord> = Vec::new();
        let done = run(&plan, &facts, &mut back, &stop);
        assert!(done.complete, "{fit:?}");
        for record in &back {
            let end = record.sector.bytes().0 + record.bytes.0;
            assert!(end <= 1 << 30, "{fit:?}: {end}");
        }
        let left_out = if fit == Fit::Clip {
            4 - done.counts.issued
        } else {
            0
        };
        assert_eq!(done.counts.issued + left_out, 4, "{fit:?}");
    }
}

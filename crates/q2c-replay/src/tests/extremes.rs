//! Traces with offsets and times that no device has.

use super::trace::on_trace;
use super::{facts, plan, run};
use crate::ReplayFacts;
use q2c_model::replay::{Count, Fit, Idle, Mode};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};

#[test]
fn places_and_times_beyond_all_reason_are_replayed() {
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
        let (id, sector, bytes) = (id as u64, Sectors(*sector), Bytes(u64::MAX - 1));
        IoRecord {
            queue_ns: Some(Nanos(*time)),
            complete_ns: Some(Nanos(*time)),
            ..IoRecord::new(id, Layer::Block, dev, Op::Read, sector, bytes)
        }
    };
    let records: Vec<IoRecord> = far.iter().enumerate().map(record).collect();
    on_trace(&records, |path| replay_by_every_fit(&facts(path)));
}

fn replay_by_every_fit(facts: &ReplayFacts) {
    for fit in [Fit::Modulo, Fit::Clip, Fit::Scale, Fit::Dense] {
        let mut plan = plan(Mode::Outstanding {
            count: Count::Bytes,
            idle: Idle::Squeeze,
        });
        plan.fit = fit;
        plan.targets[0].size = Bytes(1 << 30);
        plan.targets[0].devices = (0..facts.devices.len()).collect();
        let (done, back) = run(&plan, facts);
        assert!(done.complete, "{fit:?}");
        for record in &back {
            let end = record.sector.bytes().0 + record.bytes.0;
            assert!(end <= 1 << 30, "{fit:?}: {end}");
        }
        assert!(fit == Fit::Clip || done.counts.issued == 4, "{fit:?}");
    }
}

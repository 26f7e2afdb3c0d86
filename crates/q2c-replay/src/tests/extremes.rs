//! Traces with offsets and times that no device has.

use super::trace::{on_trace, queued};
use super::{facts, plan, run};
use crate::ReplayFacts;
use q2c_model::replay::{Count, Fit, Idle, Mode};
use q2c_model::{Bytes, IoRecord, Op, Sectors};

#[test]
fn places_and_times_beyond_all_reason_are_replayed() {
    let most = u64::MAX;
    let far = [(0, 0), (most / 512, 1), (most - 1, most - 2), (1, most - 1)];
    let record = |(id, (sector, time)): (u32, (u64, u64))| {
        let mut record = queued(id.into(), time, Op::Read, Sectors(sector), Bytes(most - 1));
        (record.device.major, record.device.minor) = (id, u32::MAX);
        record.complete_ns = record.queue_ns;
        record
    };
    let records: Vec<IoRecord> = (0..).zip(far).map(record).collect();
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

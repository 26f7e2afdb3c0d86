//! The order of requests that overlap, and traces with offsets and times that no device has.

use super::trace::{on_trace, queued};
use super::{facts, plan, run};
use crate::ReplayFacts;
use q2c_model::replay::{Count, Fit, Idle, Mode, Writes};
use q2c_model::{Bytes, IoRecord, Op, Sectors};
use std::collections::HashMap;

/// Overlapping writes and reads on three real threads keep the order of the trace.
#[test]
fn overlapping_requests_of_several_threads_keep_their_order() {
    let mut rng = q2c_model::stats::Rng::new(5);
    let record = |id: u64| {
        let sector = Sectors(rng.below(400) * 1024);
        let bytes = Bytes(4096 + rng.below(200) * 4096);
        let op = [Op::Read, Op::Write][rng.below(2) as usize];
        queued(id, id * 2_000, op, sector, bytes)
    };
    let records: Vec<IoRecord> = (0..20_000).map(record).collect();
    let mut plan = plan(Mode::Timed { speed: 1.0 });
    plan.permits.writes = Writes::Allow;
    (plan.submitters, plan.memory.size) = (3, 1 << 20);
    let (done, back) = on_trace(&records, |path| run(&plan, &facts(path)));
    let counts = (done.counts.issued, done.counts.errors, done.rows_lost);
    assert_eq!(counts, (20_000, 0, 0));
    assert!(done.complete && done.counts.inversions == 0);
    // Records do not have the trace's index: offset, length and operation identify a request.
    let key = |record: &IoRecord| (record.sector.0, record.bytes.0, record.op);
    let mut times_left: HashMap<_, Vec<u64>> = HashMap::new();
    for record in &back {
        let times = times_left.entry(key(record)).or_default();
        times.push(record.submit_ns.unwrap().0);
    }
    let take_time = |record: &IoRecord| times_left.get_mut(&key(record)).unwrap().remove(0);
    let at: Vec<u64> = records.iter().map(take_time).collect();
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

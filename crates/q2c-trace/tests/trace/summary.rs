//! Counts of a small trace, computed by hand, and percentiles, compared with sorting.

use crate::support::block_read;
use proptest::prelude::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceSummary};
use q2c_trace::TraceCounter;

fn count(records: &[IoRecord]) -> TraceSummary {
    let mut counter = TraceCounter::default();
    records.chunks(3).for_each(|slice| counter.add(slice));
    counter.finish()
}

fn user(op: Op, bytes: u64, lane: u32, submit: u64, reap: u64) -> IoRecord {
    let nowhere = DevId::default();
    let mut record = IoRecord::new(0, Layer::User, nowhere, op, Sectors(0), Bytes(bytes));
    (record.submit_ns, record.reap_ns) = (Some(Nanos(submit)), Some(Nanos(reap)));
    record.lane = lane;
    record
}

#[test]
fn a_small_trace_by_hand() {
    let mut records = vec![
        user(Op::Read, 4096, 0, 1_000, 1_100),
        user(Op::Write, 8192, 7, 1_050, 1_250),
        user(Op::Read, 4096, 0, 1_300, 1_360),
    ];
    (records[1].slept_ns, records[1].missed) = (Some(Nanos(9)), Some(true));
    (records[2].slept_ns, records[2].missed) = (Some(Nanos(5)), Some(false));
    records[2].error = Some(-5);
    records[0].error = Some(0);
    records[1].depth_at_submit = 4;
    let got = count(&records);
    let named = |pairs: &[(&str, u64)]| pairs.iter().map(|&(n, c)| (n.to_owned(), c)).collect();
    assert_eq!((got.records, got.lanes, got.deepest), (3, 2, 4));
    assert_eq!(got.ops, named(&[("read", 2), ("write", 1)]));
    let bytes = [("read", 8192), ("write", 8192)].map(|(op, n)| (op.to_owned(), Bytes(n)));
    assert_eq!(got.op_bytes, bytes.into());
    assert_eq!(got.layers, named(&[("user", 3)]));
    assert_eq!(got.devices, named(&[("0:0", 3)]));
    assert_eq!(got.sizes, [(Bytes(4096), 2), (Bytes(8192), 1)].into());
    assert_eq!((got.slept, got.missed, got.failed), (2, 1, 1));
    assert_eq!((got.span_ns, got.q2c), (Nanos(360), None));
    let u2c = got.u2c.unwrap();
    // Below 256 ns, each class holds a single value.
    assert_eq!((u2c.min_ns, u2c.p50_ns), (Nanos(60), Nanos(100)));
    assert_eq!((u2c.p99_ns, u2c.max_ns), (Nanos(200), Nanos(200)));
    assert_eq!(u2c.mean_ns, 120.0);
}

#[test]
fn the_layers_latencies_are_kept_apart() {
    let got = count(&[block_read(0, 500), block_read(1, 90_000)]);
    assert_eq!(got.u2c, None);
    let q2c = got.q2c.unwrap();
    assert_eq!(q2c.ios, 2);
    assert_eq!((q2c.min_ns, q2c.max_ns), (Nanos(10_000), Nanos(10_000)));
    assert_eq!(got.span_ns, Nanos(99_500));
    assert_eq!(count(&[]), TraceSummary::default());
}

proptest! {
    #[test]
    fn percentiles_are_those_of_sorting(latencies in prop::collection::vec(1u64..5_000_000_000, 1..400)) {
        let records: Vec<IoRecord> = latencies.iter().map(|&ns| user(Op::Read, 512, 0, 0, ns)).collect();
        let got = count(&records).u2c.unwrap();
        let mut sorted = latencies;
        sorted.sort_unstable();
        for (per_cent, got) in [(50, got.p50_ns.0), (99, got.p99_ns.0)] {
            let exact = sorted[(sorted.len() * per_cent).div_ceil(100) - 1];
            prop_assert!(got <= exact && exact - got <= exact / 128, "{} {}", got, exact);
        }
    }
}

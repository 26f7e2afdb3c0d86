//! Traces for tests.

use proptest::prelude::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::TraceWriter;
use std::path::Path;

/// A request of a trace; blocks are 4 KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestRequest {
    pub start_ns: u64,
    pub latency_ns: u64,
    pub block: u64,
    pub lane: u32,
}

impl TestRequest {
    pub(crate) fn new(start_ns: u64, latency_ns: u64, block: u64) -> Self {
        TestRequest {
            start_ns,
            latency_ns,
            block,
            lane: 0,
        }
    }

    pub(crate) fn end_ns(&self) -> u64 {
        self.start_ns + self.latency_ns
    }
}

/// An I/O of the device 8:0 that is queued at `queue_ns`.
pub(crate) fn queued(id: u64, queue_ns: u64, op: Op, sector: Sectors, bytes: Bytes) -> IoRecord {
    let device = DevId { major: 8, minor: 0 };
    IoRecord {
        queue_ns: Some(Nanos(queue_ns)),
        ..IoRecord::new(id, Layer::Block, device, op, sector, bytes)
    }
}

/// Requests with these gaps, latencies, blocks and lanes.
pub(crate) fn requests(drawn: &[(u64, u64, u64, u32)]) -> Vec<TestRequest> {
    let mut start = 0;
    let one = |&(gap, latency, block, lane): &(u64, u64, u64, u32)| {
        start += gap;
        TestRequest {
            lane,
            ..TestRequest::new(start, latency, block)
        }
    };
    drawn.iter().map(one).collect()
}

pub(crate) fn few_cases() -> ProptestConfig {
    ProptestConfig {
        cases: 32,
        max_shrink_iters: 60,
        ..ProptestConfig::default()
    }
}

/// Gaps, latencies, blocks and lanes of requests.
pub(crate) fn drawn() -> impl Strategy<Value = Vec<(u64, u64, u64, u32)>> {
    prop::collection::vec((0u64..500, 1u64..2000, 0u64..1000, 0u32..4), 1..200)
}

/// Writes the requests as a trace, and calls `work` on it.
pub(crate) fn in_folder<T>(requests: &[TestRequest], work: impl FnOnce(&Path) -> T) -> T {
    let record = |(id, r): (u64, &TestRequest)| IoRecord {
        complete_ns: Some(Nanos(r.end_ns())),
        lane: r.lane,
        ..queued(id, r.start_ns, Op::Read, Sectors(r.block * 8), Bytes(4096))
    };
    let records: Vec<IoRecord> = (0..).zip(requests).map(record).collect();
    on_trace(&records, work)
}

/// Writes a trace of these records, and calls `work` on it.
pub(crate) fn on_trace<T>(records: &[IoRecord], work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(records).unwrap();
    writer.finish().unwrap();
    work(&path)
}

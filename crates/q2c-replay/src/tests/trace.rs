//! Traces for tests.

use proptest::prelude::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::TraceWriter;
use std::path::Path;

/// A request of a trace; blocks are 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    pub start_ns: u64,
    pub latency_ns: u64,
    pub block: u64,
    pub lane: u32,
}

fn write_trace(path: &Path, requests: &[Traced]) {
    let record = |(id, r): (usize, &Traced)| {
        let (sector, bytes) = (Sectors(r.block * 8), Bytes(4096));
        let plain = IoRecord::new(
            id as u64,
            Layer::Block,
            DevId { major: 8, minor: 0 },
            Op::Read,
            sector,
            bytes,
        );
        IoRecord {
            queue_ns: Some(Nanos(r.start_ns)),
            complete_ns: Some(Nanos(r.start_ns + r.latency_ns)),
            lane: r.lane,
            ..plain
        }
    };
    let records: Vec<IoRecord> = requests.iter().enumerate().map(record).collect();
    write_records(path, &records);
}

/// Writes a trace of these records.
pub fn write_records(path: &Path, records: &[IoRecord]) {
    let mut writer = TraceWriter::create(path, TraceMeta::default()).unwrap();
    writer.push(records).unwrap();
    writer.finish().unwrap();
}

/// Requests with the gaps and latencies that were drawn.
pub fn requests(drawn: &[(u64, u64, u64, u32)]) -> Vec<Traced> {
    let mut start = 0;
    let one = |&(gap, latency, block, lane): &(u64, u64, u64, u32)| {
        start += gap;
        Traced {
            start_ns: start,
            latency_ns: latency,
            block,
            lane,
        }
    };
    drawn.iter().map(one).collect()
}

/// Gaps, latencies, blocks and lanes of requests.
pub fn drawn() -> impl Strategy<Value = Vec<(u64, u64, u64, u32)>> {
    prop::collection::vec((0u64..500, 1u64..2000, 0u64..1000, 0u32..4), 1..200)
}

/// Writes the requests as a trace, and does the work on it.
pub fn in_folder<T>(requests: &[Traced], work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    write_trace(&path, requests);
    work(&path)
}

//! Patterns of synthetic recordings with known sizes, depths and think times, and their workloads.

#[cfg(test)]
mod comparing;
#[cfg(test)]
mod copying;
#[cfg(test)]
mod reading;

use q2c_model::{Bytes, DevId, Fault, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_result::program::ProgramPattern;
use q2c_trace::TraceWriter;
use q2c_tune::program::{RecordingSelection, read};
use std::sync::atomic::AtomicBool;

const US: u64 = 1000;

/// A synthetic stream: one submitter that does I/Os of one kind, one after the other.
#[derive(Clone, Copy, Debug)]
struct SyntheticStream {
    lane: u32,
    op: Op,
    bytes: u64,
    /// Latency and think time, ns.
    latency: u64,
    think: u64,
    /// Start of the first I/O, ns.
    begin: u64,
    ios: u64,
    /// True if each I/O starts where the last one ended.
    sequential: bool,
}

impl SyntheticStream {
    /// Reads of 4 KiB that take 80 us, with 20 us between them.
    const READS: SyntheticStream = SyntheticStream {
        lane: 0,
        op: Op::Read,
        bytes: 4096,
        latency: 80 * US,
        think: 20 * US,
        begin: 0,
        ios: 1000,
        sequential: false,
    };

    fn records(self) -> impl Iterator<Item = IoRecord> {
        (0..self.ios).map(move |n| {
            let sectors = self.bytes / Sectors::SIZE;
            let block = if self.sequential {
                n
            } else {
                // Every other block, so that no I/O starts where another ends.
                (n * 7919 % 100_000) * 2
            };
            let sector = Sectors(block * sectors);
            let device = DevId { major: 8, minor: 0 };
            let new = IoRecord::new(n, Layer::Block, device, self.op, sector, Bytes(self.bytes));
            let begin = self.begin + n * (self.latency + self.think);
            IoRecord {
                lane: self.lane,
                queue_ns: Some(Nanos(begin)),
                complete_ns: Some(Nanos(begin + self.latency)),
                comm: Some(format!("task{}", self.lane)),
                ..new
            }
        })
    }
}

/// The records of several streams in the order of their start.
fn records(streams: &[SyntheticStream]) -> Vec<IoRecord> {
    let mut records: Vec<IoRecord> = streams.iter().flat_map(|s| s.records()).collect();
    records.sort_by_key(|record| record.queue_ns);
    (0..)
        .zip(&mut records)
        .for_each(|(n, record)| record.id = n);
    records
}

/// Writes a trace of the records and reads its pattern, for the processes `only`; for all if empty.
fn of_trace(records: &[IoRecord], meta: TraceMeta, only: &[&str]) -> Result<ProgramPattern, Fault> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet");
    let mut writer = TraceWriter::create(&path, meta).expect("a new trace");
    writer.push(records).expect("records");
    writer.finish().expect("a trace");
    let selection = RecordingSelection {
        name: "t".to_owned(),
        processes: only.iter().map(|&name| name.to_owned()).collect(),
    };
    read(&path, &selection, &AtomicBool::new(false)).map(|(pattern, _)| pattern)
}

fn pattern(streams: &[SyntheticStream]) -> ProgramPattern {
    of_trace(&records(streams), TraceMeta::default(), &[]).expect("a pattern")
}

#[track_caller]
fn near(a: f64, b: f64, relative: f64) {
    assert!((a / b - 1.0).abs() <= relative, "{a}, expected {b}");
}

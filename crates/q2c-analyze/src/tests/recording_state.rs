//! Analyses of a recording's parts, with the names of processes.

use super::json;
use crate::{Analyzer, Options, PartialAnalysis, RecordingAnalysis, recording};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::import::RecordSink;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Reads of three processes; every seventh record is of the other layer.
fn records() -> Vec<IoRecord> {
    let one = |n: u64| {
        let layer = if n % 7 == 3 {
            Layer::User
        } else {
            Layer::Block
        };
        let (sector, bytes) = (Sectors(n * 8), Bytes(4096));
        let mut io = IoRecord::new(n, layer, DevId::default(), Op::Read, sector, bytes);
        (io.queue_ns, io.complete_ns) = (Some(Nanos(n * 100)), Some(Nanos(n * 100 + 250)));
        (io.submit_ns, io.reap_ns) = (io.queue_ns, io.complete_ns);
        (io.pid, io.comm) = (Some((n % 3) as u32), Some(format!("process {}", n / 50)));
        io
    };
    (0..200).map(one).collect()
}

/// A process has its first name, in parts as in one pass. I/Os that are left out are counted.
#[test]
fn parts_have_the_names_and_counts_of_the_whole() {
    let (records, path) = (records(), Path::new("a recording"));
    let meta = TraceMeta {
        lost: 2,
        ..TraceMeta::default()
    };
    let stop = AtomicBool::new(false);
    let mut whole = RecordingAnalysis::new(path, None, &stop);
    whole.push(&records).unwrap();
    let whole = whole.finish(meta.clone()).unwrap();
    assert_eq!(whole.groups["process"][0].key, "process 0 (0)");
    assert_eq!(whole.unmatched["of the other layer"], 28 + 1);
    let part = |from: usize, to: usize| {
        let mut part = PartialAnalysis::new(None, from > 0);
        part.push(&records[from..to]).unwrap();
        PartialAnalysis::from_bytes(&part.to_bytes().unwrap()).unwrap()
    };
    // The second part begins with a record of the other layer, so the layer must be given.
    let mut second = PartialAnalysis::new(Some(Layer::Block), true);
    second.push(&records[45..120]).unwrap();
    let merged = part(0, 45).append(second.append(part(120, 200)).unwrap());
    let merged = merged.unwrap().finish(path, meta).unwrap();
    assert_eq!(json(&merged), json(&whole));
}

#[test]
fn a_part_of_a_file_is_its_analysis() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo when a test runs");
    let path = Path::new(&package).join("../q2c-trace/patterns/disk-mixed-4-threads.parquet");
    let whole = recording(&path, &Options::default(), &AtomicBool::new(false)).unwrap();
    let reader = q2c_trace::TraceReader::open(&path).unwrap();
    let mut state = PartialAnalysis::new(None, false);
    for records in reader.records(&q2c_trace::Scan::new()).unwrap() {
        state.push(&records.unwrap()).unwrap();
    }
    assert_eq!(state.requests(), whole.requests);
    let result = state.finish(&path, reader.meta().clone()).unwrap();
    assert_eq!(json(&result), json(&whole));
}

#[test]
fn the_two_forms_are_told_apart() {
    let bytes = Analyzer::new(Layer::Block).to_bytes().unwrap();
    let error = PartialAnalysis::from_bytes(&bytes).err().unwrap();
    assert!(error.message().contains("q2canlys"), "{error}");
}

//! Which recordings can be read, what the result says of them, and how a bad one fails.

use q2c_analyze::{Options, recording};
use q2c_model::{Bytes, DevId, Exit, Fault, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::TraceWriter;
use q2c_trace::import::{ColumnMap, ImportOptions, TimeUnit};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(crate) fn analyzed(path: &Path, options: &Options) -> Result<AnalyzeResult, Fault> {
    recording(path, options, &AtomicBool::new(false))
}

/// A 4 KiB read of the process `db` that begins at `at` us and takes `took` us.
pub(crate) fn read(id: u64, layer: Layer, at: u64, took: u64) -> IoRecord {
    let (sector, bytes) = (Sectors(id * 8), Bytes(4096));
    let mut io = IoRecord::new(id, layer, DevId::default(), Op::Read, sector, bytes);
    let (begin, end) = (Nanos(at * 1000), Nanos((at + took) * 1000));
    match layer {
        Layer::Block => (io.queue_ns, io.complete_ns) = (Some(begin), Some(end)),
        Layer::User => (io.submit_ns, io.reap_ns) = (Some(begin), Some(end)),
    }
    (io.pid, io.comm) = (Some(7), Some("db".to_owned()));
    io
}

pub(crate) fn trace(folder: &Path, meta: TraceMeta, records: &[IoRecord]) -> PathBuf {
    let path = folder.join("t.parquet");
    let mut writer = TraceWriter::create(&path, meta).expect("the folder can be written");
    writer.push(records).expect("the records are valid");
    writer.finish().expect("the folder can be written");
    path
}

pub(crate) fn analyze_records(records: &[IoRecord]) -> Result<AnalyzeResult, Fault> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), TraceMeta::default(), records);
    analyzed(&path, &Options::default())
}

#[test]
fn a_trace_is_described_as_it_describes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut meta = TraceMeta {
        source: "test".to_owned(),
        clock: "a clock".to_owned(),
        lost: 3,
        ..TraceMeta::default()
    };
    meta.facts.insert("capture".to_owned(), "bpf".to_owned());
    let records = [
        read(0, Layer::User, 0, 30),
        read(1, Layer::User, 50, 40),
        read(2, Layer::User, 200, 50),
    ];
    let path = trace(folder.path(), meta, &records);
    let options = Options {
        window: Some(Nanos(40_000)..Nanos(100_000)),
        ..Options::default()
    };
    let result = analyzed(&path, &options).unwrap();
    assert_eq!((result.layer, result.requests), (Layer::User, 3));
    assert_eq!(result.stages["U2C"].mean_ns, 40_000.0);
    assert_eq!(result.groups["process"][0].key, "db (7)");
    assert_eq!(result.input.path, path.display().to_string());
    assert_eq!(result.input.source, "test");
    assert_eq!(result.input.clock, "a clock");
    assert_eq!((result.lost, result.warnings.len()), (3, 1));
    assert_eq!(result.warnings[0].id, "lost-ios");
    assert!(!result.version.is_empty());
    let window = result.excerpts.iter().find(|part| part.what == "window");
    let ids: Vec<u64> = window.unwrap().ios.iter().map(|io| io.id).collect();
    assert_eq!(ids, [1]);
}

#[test]
fn records_of_the_other_layer_are_left_out_and_counted() {
    let records = [
        read(0, Layer::Block, 0, 10),
        read(1, Layer::User, 1, 500),
        read(2, Layer::Block, 2, 20),
    ];
    let result = analyze_records(&records).unwrap();
    assert_eq!((result.layer, result.requests), (Layer::Block, 2));
    assert_eq!(result.stages["Q2C"].max_ns, 20_000);
    assert_eq!(result.unmatched["of the other layer"], 1);
}

#[test]
fn a_recording_of_another_tool_is_imported_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.csv");
    fs::write(&path, "at,took,bad\n1,5,\n3,7,\nx,9,\n").unwrap();
    let mut options = Options {
        import: ImportOptions {
            unit: Some(TimeUnit::Microseconds),
            op: Some(Op::Write),
            bytes: Some(Bytes(512)),
            columns: ColumnMap::parse_list("queue_ns=at,latency=took").unwrap(),
            ..ImportOptions::default()
        },
        ..Options::default()
    };
    let failed = analyzed(&path, &options).unwrap_err();
    assert_eq!(failed.exit(), Exit::Input);
    assert!(failed.message().contains("line 4"), "{failed}");
    options.import.skip_bad = true;
    let result = analyzed(&path, &options).unwrap();
    assert_eq!((result.requests, result.bytes), (2, 1024));
    assert_eq!(result.stages["Q2C"].max_ns, 7_000);
    assert_eq!(result.unmatched.values().sum::<u64>(), 1);
}

/// A version 7 record of blktrace, of CPU 0 or 2: a 4 KiB read by process 42.
fn event(cpu: u32, sequence: u32, us: u64, action: u32) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(sequence.to_le_bytes());
    record.extend((us * 1000).to_le_bytes());
    record.extend(64_u64.to_le_bytes());
    for field in [4096, 1 << 16 | action, 42, 259 << 20, cpu, 0] {
        record.extend(u32::to_le_bytes(field));
    }
    record
}

#[test]
fn blktraces_files_are_found_by_their_base_name() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("sda");
    let queued = [event(0, 1, 10, 1), event(0, 2, 12, 4), event(0, 3, 15, 7)];
    fs::write(base.with_extension("blktrace.0"), queued.concat()).unwrap();
    fs::write(base.with_extension("blktrace.2"), event(2, 1, 95, 8)).unwrap();
    let result = analyzed(&base, &Options::default()).unwrap();
    let stage = |name: &str| result.stages[name].mean_ns;
    let stages = (stage("Q2G"), stage("G2D"), stage("D2C"));
    assert_eq!(stages, (2_000.0, 3_000.0, 80_000.0));
    assert_eq!(result.warnings[0].id, "missing-cpu-files");
    assert_eq!(result.input.facts["cpus_without_file"], "1");
}

#[test]
fn no_request_is_an_error_that_names_the_recording() {
    let failed = analyze_records(&[]).unwrap_err();
    assert_eq!(failed.exit(), Exit::Input);
    let expected = "t.parquet: expected at least one request";
    assert!(failed.message().contains(expected), "{failed}");
}

#[test]
fn a_stop_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let one = [read(0, Layer::Block, 0, 10)];
    let native = trace(folder.path(), TraceMeta::default(), &one);
    let foreign = folder.path().join("list");
    fs::write(&foreign, "5\n6\n").unwrap();
    let blktrace = folder.path().join("sda");
    let one = [event(0, 1, 10, 1), event(0, 2, 20, 8)].concat();
    fs::write(blktrace.with_extension("blktrace.0"), one).unwrap();
    let options = Options {
        import: ImportOptions {
            unit: Some(TimeUnit::Microseconds),
            op: Some(Op::Read),
            bytes: Some(Bytes(4096)),
            ..ImportOptions::default()
        },
        ..Options::default()
    };
    let plain = Options::default();
    for (path, options) in [(native, &plain), (foreign, &options), (blktrace, &plain)] {
        assert!(analyzed(&path, options).is_ok(), "{}", path.display());
        let stopped = recording(&path, options, &AtomicBool::new(true)).unwrap_err();
        let expected = format!("analyze {}: stopped by a signal", path.display());
        assert_eq!(stopped.to_string(), expected);
        assert_eq!(stopped.exit(), Exit::Interrupted);
    }
}

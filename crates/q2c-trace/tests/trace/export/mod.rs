//! Exports in the formats of other tools: hand-made lines, and exports read back by the importers
//! and by the tools.

mod blkparse;
mod chrome;
mod csv;
mod fio_iolog;

use crate::support::{device, place, tells, write};
use q2c_model::{Bytes, Exit, Fault, IoRecord, Layer, Nanos, Op, OpFlags, Sectors, TraceMeta};
use q2c_trace::TraceReader;
use q2c_trace::export::{ExportCounts, ExportOptions, by_name, trace};

fn export(
    format: &str,
    meta: &TraceMeta,
    records: &[IoRecord],
    options: &ExportOptions,
) -> Result<(String, ExportCounts), Fault> {
    let (_folder, path) = place();
    write(&path, meta, records, 1000);
    let reader = TraceReader::open(&path).unwrap();
    let mut out = Vec::new();
    let format = by_name(format).unwrap();
    let exported = trace(format, &path, &reader, options, &|| true, &mut out)?;
    Ok((String::from_utf8(out).unwrap(), exported))
}

/// Exports records with the default options and an empty description.
fn export_all(format: &str, records: &[IoRecord]) -> (String, ExportCounts) {
    let (meta, options) = (TraceMeta::default(), ExportOptions::default());
    export(format, &meta, records, &options).unwrap()
}

fn window(from: u64, to: u64) -> ExportOptions {
    ExportOptions {
        window: Some(Nanos(from)..Nanos(to)),
        ..ExportOptions::default()
    }
}

/// A block-layer record on 259:3 with the times of Q, G, I, D and C; -1 if unknown.
fn block(id: u64, op: Op, sector: u64, bytes: u64, times: [i64; 5]) -> IoRecord {
    let (device, sector) = (device(3), Sectors(sector));
    let mut record = IoRecord::new(id, Layer::Block, device, op, sector, Bytes(bytes));
    let [q, g, i, d, c] = times.map(|ns| u64::try_from(ns).ok().map(Nanos));
    (record.queue_ns, record.getrq_ns, record.insert_ns) = (q, g, i);
    (record.issue_ns, record.complete_ns) = (d, c);
    record.error = c.map(|_| 0);
    record
}

/// Three requests, of which the last has no end.
fn three() -> Vec<IoRecord> {
    const TIMES: [i64; 5] = [1_500, 2_500, -1, 4_000, 50_000];
    let mut records = vec![
        block(0, Op::Read, 8, 4096, [0, 1_000, 2_000, 3_000, 80_500]),
        block(1, Op::Write, 1 << 33, 512, TIMES),
        block(2, Op::Flush, 0, 0, [70_000, 71_000, 72_000, -1, -1]),
    ];
    records[0].pid = Some(71);
    records[0].comm = Some("a, \"b\"".to_owned());
    (records[0].cpu_submit, records[0].cpu_complete) = (Some(1), Some(3));
    (records[0].hctx, records[0].tag) = (Some(2), Some(9));
    records[1].flags = OpFlags::SYNC.union(OpFlags::FUA);
    (records[1].cpu_submit, records[1].error) = (Some(1), Some(-5));
    records
}

#[test]
fn an_empty_window_is_an_error() {
    let options = window(80_000, 90_000);
    let error = export("csv", &TraceMeta::default(), &three(), &options).unwrap_err();
    tells(&error.to_string(), "found none (0 left out); widen --from");
}

#[test]
fn no_file_is_written_over_and_a_stopped_export_leaves_none() {
    let (folder, path) = place();
    write(&path, &TraceMeta::default(), &three(), 10);
    let reader = TraceReader::open(&path).unwrap();
    let to = folder.path().join("out.csv");
    let csv = by_name("csv").unwrap();
    let options = ExportOptions::default();
    let file = |go_on: bool| q2c_trace::export::file(csv, &path, &reader, &options, &|| go_on, &to);
    let stopped = file(false).unwrap_err();
    assert_eq!(stopped.exit(), Exit::Interrupted);
    assert!(stopped.to_string().ends_with("stopped by a signal"));
    assert!(!to.exists());
    assert_eq!(file(true).unwrap().written, 3);
    let before = std::fs::read(&to).unwrap();
    let taken = file(true).unwrap_err();
    assert_eq!(taken.exit(), Exit::Usage);
    assert!(taken.message().contains("found an existing file"));
    assert_eq!(std::fs::read(&to).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

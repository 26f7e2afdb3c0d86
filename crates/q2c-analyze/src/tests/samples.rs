//! Real recordings, cut into seven parts and joined again.

use super::{feed, finished, restored, same_but_for_the_inexact};
use crate::Analyzer;
use q2c_model::IoRecord;
use q2c_trace::import::{ImportOptions, Input, RecordSink};
use q2c_trace::{Scan, Span, TraceError};
use std::path::Path;

struct Spans(Vec<Span>);

impl RecordSink for Spans {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.0.extend(records.iter().map(Span::from_record));
        Ok(())
    }
}

fn spans(path: &Path) -> Vec<Span> {
    let mut spans = Spans(Vec::new());
    let input = Input::recognise(path, None).expect("a recording");
    let read = input.read(path, &ImportOptions::default(), &Scan::new(), &mut spans);
    read.expect("a whole recording");
    spans.0
}

/// Cuts into seven parts that keep `head` I/Os. Joins the first three, the last four, then both.
fn in_seven_parts(path: &Path, head: usize) {
    let spans = spans(path);
    let layer = spans[0].layer;
    let analyze = |(at, ios): (usize, &[Span])| match at {
        0 => feed(Analyzer::new(layer), ios, 500),
        _ => restored(&feed(Analyzer::part_with_head(layer, head), ios, 500)),
    };
    let parts = spans.chunks(spans.len().div_ceil(7));
    let mut parts: Vec<Analyzer> = parts.enumerate().map(analyze).collect();
    assert_eq!(parts.len(), 7, "{}", path.display());
    let joined = |parts: Vec<Analyzer>| {
        let append = |one: Analyzer, next| one.append(next).expect("one layer");
        parts.into_iter().reduce(append).expect("some parts")
    };
    let last = joined(parts.split_off(3));
    let merged = joined(parts).append(last).expect("one layer");
    let whole = finished(feed(Analyzer::new(layer), &spans, 4096));
    let inexact = same_but_for_the_inexact(finished(merged), whole);
    assert!(inexact.is_empty(), "{}: {inexact:?}", path.display());
}

/// Recordings of a drive and RAM disks under this project's own loads, and published latencies.
#[test]
fn the_library_of_patterns() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo when a test runs");
    let patterns = Path::new(&package).join("../q2c-trace/patterns");
    let disk = [
        "disk-mixed-4-threads",
        "disk-mixed-sizes",
        "disk-read-4k-heavy",
    ];
    let others = ["zram-read-256k-heavy", "zssd-983zet"];
    for name in disk.into_iter().chain(others) {
        in_seven_parts(&patterns.join(format!("{name}.parquet")), 40);
    }
}

/// Two hours of a virtual disk, whose I/Os have no end times.
#[test]
fn cloud_physics() {
    if let Some(path) = q2c_testkit::shared_data("cloud_physics", "cloudphysics-sample.vscsi") {
        in_seven_parts(&path, 40);
    }
}

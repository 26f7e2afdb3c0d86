//! Measures how fast a large file is imported. Run it by hand: `cargo test --release -p q2c-trace
//! --test trace speed -- --ignored --nocapture`.

use crate::support::import_to_file;
use q2c_model::IoRecord;
use q2c_trace::import::{ImportOptions, Input, RecordSink};
use q2c_trace::{TraceError, TraceReader};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

const ROWS: u64 = 20_000_000;

/// Writes 20 M rows (0.8 GB) in the order of time: 1000 devices with offsets over 40 GiB each, and
/// four sizes.
fn generate(path: &Path) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut state = 1u64;
    for row in 0..ROWS {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 24;
        let op = if random.is_multiple_of(4) { 'R' } else { 'W' };
        let (device, offset) = (random % 1000, (random >> 10) % (10 << 20) * 4096);
        let length = 4096 << ((random >> 3) & 3);
        let time = 1_577_808_000_000_000 + row * 37;
        writeln!(file, "{device},{op},{offset},{length},{time}").unwrap();
    }
    file.flush().unwrap();
}

#[derive(Default)]
struct RecordCounter(u64);

impl RecordSink for RecordCounter {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.0 += records.len() as u64;
        Ok(())
    }
}

#[test]
#[ignore = "needs 1.2 GB of disk and a quiet machine"]
fn alibaba_rows_become_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (path, trace) = (folder.path().join("rows.csv"), folder.path().join("trace"));
    generate(&path);
    let options = ImportOptions::default();
    let began = Instant::now();
    let mut counted = RecordCounter::default();
    let input = Input::recognise(&path, Some("alibaba")).unwrap();
    input.import(&path, &options, &mut counted).unwrap();
    let parsed = began.elapsed();
    assert_eq!(counted.0, ROWS);
    let began = Instant::now();
    import_to_file("alibaba", &path, &options, &trace).unwrap();
    let written = began.elapsed();
    TraceReader::open(&trace).unwrap();
    let sizes = [&path, &trace].map(|path| fs::metadata(path).unwrap().len());
    eprintln!(
        "{ROWS} rows: {} MB; records only {parsed:.2?}; trace {written:.2?}, {:.1} B per record",
        sizes[0] / 1_000_000,
        sizes[1] as f64 / ROWS as f64
    );
}

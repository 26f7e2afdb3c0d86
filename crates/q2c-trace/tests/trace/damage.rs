//! Incomplete trace files are refused with a reason, without a panic.

use crate::support::{block_read, place, read, tells, write};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use proptest::prelude::*;
use q2c_model::{Exit, Fault, TraceMeta};
use q2c_trace::{Scan, TraceReader, TraceWriter};
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, LazyLock};

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (_folder, path) = place();
    let records: Vec<_> = (0..2_000).map(|id| block_read(id, id * 977)).collect();
    write(&path, &TraceMeta::default(), &records, 500);
    fs::read(&path).unwrap()
});

#[test]
fn every_sixteenth_is_refused() {
    let (_folder, path) = place();
    for part in 0..16 {
        fs::write(&path, &WHOLE[..WHOLE.len() * part / 16]).unwrap();
        let refused = read(&path, &Scan::new()).unwrap_err();
        let reason = refused.to_string();
        let end = if part == 0 {
            "first bytes"
        } else {
            "last bytes"
        };
        assert!(reason.contains(end), "{reason}");
        assert_eq!(refused.into_read_fault().exit(), Exit::Input);
        assert!(reason.contains(&*path.to_string_lossy()), "{reason}");
    }
}

/// A piece in the middle is missing but the end is there, as after a broken copy.
#[test]
fn a_hole_in_the_middle_is_refused() {
    let (_folder, path) = place();
    for part in 1..16 {
        let cut = WHOLE.len() * part / 16;
        let bytes = [&WHOLE[..cut - 40], &WHOLE[cut..]].concat();
        fs::write(&path, bytes).unwrap();
        assert!(read(&path, &Scan::new()).is_err(), "cut before {cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn a_wrong_byte_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (_folder, path) = place();
        let mut bytes = WHOLE.clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        fs::write(&path, bytes).unwrap();
        if let Ok(records) = read(&path, &Scan::new()) {
            prop_assert!(records.len() <= 2_000);
        }
    }
}

/// A Parquet file with one column `id` and the given metadata.
fn write_parquet(path: &Path, entries: &[(&str, &str)]) {
    let ids: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, false)]).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    for (key, value) in entries {
        let entry = KeyValue::new((*key).to_owned(), (*value).to_owned());
        writer.append_key_value_metadata(entry);
    }
    writer.close().unwrap();
}

#[test]
fn other_parquet_files_are_refused_by_what_they_lack() {
    const META: (&str, &str) = (
        "q2c.trace.meta",
        r#"{"clock":"","source":"","source_version":"","lost":0,"unmatched":{},"facts":{}}"#,
    );
    const VERSION: (&str, &str) = ("q2c.trace.version", "1");
    const LATER: (&str, &str) = ("q2c.trace.version", "2");
    const BROKEN: (&str, &str) = ("q2c.trace.meta", "{");
    for (entries, reason) in [
        (&[][..], "expected metadata `q2c.trace.version`, found none"),
        (&[VERSION], "expected metadata `q2c.trace.meta`, found none"),
        (&[LATER, META], "expected schema version 1, found `2`"),
        (&[VERSION, BROKEN], "expected a trace description as JSON"),
        (&[VERSION, META], "expected column `layer`, found no such"),
    ] {
        let (_folder, path) = place();
        write_parquet(&path, entries);
        tells(&TraceReader::open(&path).unwrap_err().to_string(), reason);
    }
}

#[test]
fn a_text_file_is_no_trace() {
    let (_folder, path) = place();
    fs::write(&path, "submit,reap\n1,2\n").unwrap();
    let refused = TraceReader::open(&path).unwrap_err().to_string();
    tells(&refused, "first bytes `PAR1`), found `subm`");
}

#[test]
fn the_name_appears_at_the_end_only_and_nothing_else_stays() {
    let (folder, path) = place();
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(&[block_read(0, 0)]).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_existing_file_is_never_replaced() {
    let (folder, path) = place();
    let writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    fs::write(&path, "mine").unwrap();
    let refused = Fault::from(writer.finish().expect_err("the name is taken"));
    assert_eq!(refused.exit(), Exit::Device);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let (_, kept) = refused.message().rsplit_once(" as ").unwrap();
    assert_eq!(TraceReader::open(kept).unwrap().rows(), 0);
    assert!(Path::new(kept).starts_with(folder.path()));
    let again = TraceWriter::create(&path, TraceMeta::default());
    assert_eq!(again.err().map(Fault::from).unwrap().exit(), Exit::Usage);
}

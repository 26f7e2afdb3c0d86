use crate::any::any_record;
use crate::support::{block_read, read, tells, write};
use proptest::prelude::*;
use q2c_model::{DevId, Exit, Fault, FleetMeta, IoRecord, TraceMeta};
use q2c_trace::import::{ImportError, ImportOptions, merge_recordings, to_fleet};
use q2c_trace::{Scan, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

fn fleet(inputs: &[PathBuf], out: &Path, rows: u64) -> Result<FleetMeta, ImportError> {
    let (rows, stop) = (NonZeroU64::new(rows).unwrap(), AtomicBool::new(false));
    to_fleet(inputs, None, &ImportOptions::default(), (out, rows), &stop)
}

/// The traces of a device, sorted by name.
fn traces(out: &Path, device: DevId) -> Vec<PathBuf> {
    let folder = out.join(format!("device={}%3A{}", device.major, device.minor));
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Records grouped by device, with ids that count from 0 for each device.
fn by_device(records: &[IoRecord]) -> BTreeMap<(u32, u32), Vec<IoRecord>> {
    let mut devices: BTreeMap<(u32, u32), Vec<IoRecord>> = BTreeMap::new();
    for record in records {
        let DevId { major, minor } = record.device;
        let device = devices.entry((major, minor)).or_default();
        let mut record = record.clone();
        record.id = device.len() as u64;
        device.push(record);
    }
    devices
}

fn check_fleet(out: &Path, records: &[IoRecord], rows: usize) {
    let devices = by_device(records);
    assert_eq!(fs::read_dir(out).unwrap().count(), devices.len() + 1);
    for ((major, minor), expected) in devices {
        let paths = traces(out, DevId { major, minor });
        let parts = paths.iter().map(|path| read(path, &Scan::new()).unwrap());
        let parts: Vec<Vec<IoRecord>> = parts.collect();
        let (last, full) = parts.split_last().unwrap();
        assert!(full.iter().all(|part| part.len() == rows) && last.len() <= rows);
        assert_eq!(parts.concat(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each record comes back with all columns, at its place in the traces of its device.
    #[test]
    fn a_trace_is_divided_by_device(
        mut records in proptest::collection::vec((any_record(), 0..3_u32), 1..60),
        rows in 1..20_u64,
    ) {
        let records: Vec<IoRecord> = records.drain(..).enumerate().map(|(id, (record, minor))| {
            let device = DevId { major: 8, minor };
            IoRecord { id: id as u64, device, merged_into: None, ..record }
        }).collect();
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("whole"), folder.path().join("fleet"));
        write(&path, &TraceMeta::default(), &records, 50);
        let made = fleet(&[path], &out, rows).unwrap();
        prop_assert_eq!(made.rows, records.len() as u64);
        check_fleet(&out, &records, rows as usize);
    }
}

/// Rows of Alibaba's format for 7 devices, one of which has half of them.
fn alibaba(folder: &Path, name: &str, from: u64) -> PathBuf {
    let line = |n: u64| {
        let device = if n.is_multiple_of(2) { 3 } else { n % 7 };
        let op = if n.is_multiple_of(3) { 'R' } else { 'W' };
        let (offset, us) = (n * 4096, 1_577_808_000_000_000 + n * 3);
        format!("{device},{op},{offset},4096,{us}\n")
    };
    let path = folder.join(name);
    fs::write(&path, (from..from + 20_000).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn recordings_of_a_public_format_become_a_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [("a", 0), ("b", 15_000)].map(|(name, from)| alibaba(folder.path(), name, from));
    let out = folder.path().join("fleet");
    let made = fleet(&inputs, &out, 3_000).unwrap();
    let mut records = Vec::new();
    let meta = merge_recordings(&inputs, None, &ImportOptions::default(), &mut records).unwrap();
    check_fleet(&out, &records, 3_000);
    let sizes = by_device(&records);
    let divided = sizes.values().map(|ios| ios.len().div_ceil(3_000) as u64);
    let expected = FleetMeta {
        schema: "q2c.fleet/1".to_owned(),
        rows: 40_000,
        volumes: 7,
        traces: divided.sum(),
        sources: 2,
        zero_ns: 1_577_808_000_000_000_000,
        unix: true,
        clock: meta.clock,
        source: "alibaba".to_owned(),
        ..FleetMeta::default()
    };
    assert_eq!(made, expected);
    let json = fs::read(out.join("_fleet.json")).unwrap();
    let written: FleetMeta = serde_json::from_slice(&json).unwrap();
    assert_eq!(written, expected);
    let second = traces(&out, DevId { major: 1, minor: 3 }).remove(1);
    let meta = TraceReader::open(second).unwrap().meta().clone();
    assert_eq!(meta.start_unix_ns, Some(1_577_808_000_000_000_000));
    assert_eq!(meta.facts["fleet.stretch"], "1");
}

#[test]
fn a_failed_import_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let good = alibaba(folder.path(), "good", 0);
    let bad = alibaba(folder.path(), "bad", 0);
    let mut text = fs::read_to_string(&bad).unwrap();
    text.push_str("3,R,oops,4096,1577808000060001\n");
    fs::write(&bad, text).unwrap();
    let out = folder.path().join("fleet");
    let error = fleet(&[good.clone(), bad], &out, 9);
    let error = error.unwrap_err().to_string();
    tells(&error, "bad, line 20001");
    tells(&error, "`oops`");
    assert!(!out.exists());

    let (rows, stop) = (NonZeroU64::MIN, AtomicBool::new(true));
    let options = ImportOptions::default();
    let inputs = std::slice::from_ref(&good);
    let stopped = to_fleet(inputs, None, &options, (&out, rows), &stop);
    let Err(ImportError::Trace(TraceError::Stopped { .. })) = stopped else {
        panic!("{stopped:?}");
    };
    assert!(!out.exists());

    fs::create_dir(&out).unwrap();
    fs::write(out.join("precious"), "kept").unwrap();
    let taken = fleet(&[good], &out, 9);
    assert_eq!(Fault::from(taken.unwrap_err()).exit(), Exit::Usage);
    assert_eq!(fs::read(out.join("precious")).unwrap(), b"kept");
}

#[test]
fn merged_requests_cannot_be_divided() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("whole"), folder.path().join("fleet"));
    let mut merged = block_read(1, 10);
    merged.merged_into = Some(0);
    write(&path, &TraceMeta::default(), &[block_read(0, 0), merged], 2);
    let error = fleet(&[path], &out, 9).unwrap_err().to_string();
    tells(&error, "found 1 that were merged");
    assert!(!out.exists());
}

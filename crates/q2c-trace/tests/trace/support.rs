use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::import::{ColumnMap, Import, ImportError, ImportOptions, by_name, to_trace};
use q2c_trace::{Scan, TraceError, TraceReader, TraceWriter};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Writes `records` to a new trace, in slices of `push` records.
pub(crate) fn write(path: &Path, meta: &TraceMeta, records: &[IoRecord], push: usize) {
    let mut writer = TraceWriter::create(path, meta.clone()).unwrap();
    for slice in records.chunks(push) {
        writer.push(slice).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), records.len() as u64);
}

pub(crate) fn read(path: &Path, scan: &Scan) -> Result<Vec<IoRecord>, TraceError> {
    let parts: Result<Vec<Vec<IoRecord>>, TraceError> =
        TraceReader::open(path)?.records(scan)?.collect();
    Ok(parts?.concat())
}

/// Default import options, changed by `change`.
pub(crate) fn stating(change: impl FnOnce(&mut ImportOptions)) -> ImportOptions {
    let mut options = ImportOptions::default();
    change(&mut options);
    options
}

pub(crate) fn columns(map: &str) -> Vec<ColumnMap> {
    ColumnMap::parse_list(map).unwrap()
}

pub(crate) type ImportedRecords<E = String> = Result<(Vec<IoRecord>, TraceMeta), E>;

/// Imports a source; `path` names it in messages.
pub(crate) fn import(
    format: &str,
    path: &str,
    mut input: impl BufRead,
    options: &ImportOptions,
) -> ImportedRecords<ImportError> {
    let mut records = Vec::new();
    let meta = (by_name(format).unwrap().import)(&mut Import {
        path: Path::new(path),
        input: &mut input,
        options,
        sink: &mut records,
    })?;
    Ok((records, meta))
}

pub(crate) fn import_to_file(
    format: &str,
    path: &Path,
    options: &ImportOptions,
    trace: &Path,
) -> Result<TraceMeta, ImportError> {
    let (paths, stop) = ([path.to_owned()], AtomicBool::new(false));
    let imported = to_trace(&paths, Some(format), options, trace, &stop)?;
    Ok(imported.0)
}

#[track_caller]
pub(crate) fn tells(message: &str, words: &str) {
    assert!(message.contains(words), "{message}\nlacks: {words}");
}

/// Splits a case, which is one line with ` => ` between its parts.
pub(crate) fn parts<const N: usize>(case: &str) -> [&str; N] {
    let parts: Vec<&str> = case.split(" => ").collect();
    parts.try_into().unwrap_or_else(|_| panic!("{case}"))
}

/// A temporary folder, and the path of a new file in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    (folder, path)
}

pub(crate) fn device(minor: u32) -> DevId {
    DevId { major: 259, minor }
}

/// A block read of 4 KiB on 259:0, queued at `at` and completed 10 us later.
pub(crate) fn block_read(id: u64, at: u64) -> IoRecord {
    let (device, sector) = (device(0), Sectors(id * 8));
    let mut record = IoRecord::new(id, Layer::Block, device, Op::Read, sector, Bytes(4096));
    record.queue_ns = Some(Nanos(at));
    record.complete_ns = Some(Nanos(at + 10_000));
    record
}

//! Imports recordings into a fleet: a folder with the traces of each device.
//!
//! Records are sorted by device in bounded memory, then written trace by trace. The folder has a
//! hidden name until it is complete, and is removed after an error. docs/formats.md describes the
//! folder.

use super::input::{self, origin};
use super::run::RecordBuffer;
use super::{ImportError, ImportOptions, Input, RecordSink, fact, merge_recordings};
use crate::container::{exists_error, folder_of};
use crate::sorter::{Sorter, SorterRow};
use crate::{Scan, TraceError, TraceWriter};
use q2c_model::{DevId, Fault, FleetMeta, IoRecord, TraceMeta};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Rows that are sorted in memory at once, about 120 MB.
const RUN_ROWS: usize = 1 << 18;

/// Imports recordings, including q2c traces, into the new folder `out`. A device with more than
/// `max_rows` requests has several traces. Returns the description, which the folder has too. No
/// folder is left after an error.
pub fn to_fleet(
    recordings: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    (out, max_rows): (&Path, NonZeroU64),
    stop: &AtomicBool,
) -> Result<FleetMeta, ImportError> {
    let recordings = input::recordings(recordings);
    let hidden = make_hidden_folder(out)?;
    let folder = hidden.path();
    let output = FleetOutput { folder, out, stop };
    let mut sink = DeviceSorter {
        sorter: Sorter::new(output.folder, RUN_ROWS),
        merged: 0,
        output,
    };
    let meta = match &recordings[..] {
        [path] => Input::recognise(path, format)?.read(path, options, &Scan::new(), &mut sink)?,
        _ => merge_recordings(&recordings, format, options, &mut sink)?,
    };
    let mut fleet = common_description(&meta);
    fleet.sources = recordings.len() as u64;
    sink.write(&meta, max_rows.get(), &mut fleet)?;
    write_description(output.folder, &fleet)
        .map_err(TraceError::io("describe the fleet in", output.folder))?;
    fs::rename(output.folder, out).map_err(TraceError::io("name the finished folder", out))?;
    let _ = hidden.keep();
    Ok(fleet)
}

/// The part of the description that applies to all devices.
fn common_description(meta: &TraceMeta) -> FleetMeta {
    let origin = origin(meta);
    let host = |(key, value): (&String, &String)| {
        let host = value.strip_prefix("host ").unwrap_or(value);
        let major = key.strip_prefix("device.major.")?;
        Some((major.to_owned(), host.to_owned()))
    };
    FleetMeta {
        schema: FleetMeta::SCHEMA.to_owned(),
        zero_ns: origin.zero_ns,
        unix: origin.unix,
        clock: origin.clock,
        source: meta.source.clone(),
        hosts: meta.facts.iter().filter_map(host).collect(),
        unmatched: meta.unmatched.clone(),
        lost: meta.lost,
        ..FleetMeta::default()
    }
}

fn write_description(out: &Path, fleet: &FleetMeta) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(out)?;
    serde_json::to_writer_pretty(&mut file, fleet)?;
    file.as_file().sync_all()?;
    file.persist(out.join(FleetMeta::FILE))?;
    fs::File::open(out)?.sync_all()
}

/// Makes a hidden folder beside `out`, which must not exist. The folder is removed with this value,
/// unless it is renamed to `out`.
fn make_hidden_folder(out: &Path) -> Result<TempDir, TraceError> {
    if fs::symlink_metadata(out).is_ok() {
        return Err(exists_error(out));
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(folder_of(out))
        .map_err(TraceError::io("make the folder", out))
}

/// The folder that is written, its final name, and the flag that stops the import.
#[derive(Clone, Copy)]
struct FleetOutput<'a> {
    folder: &'a Path,
    out: &'a Path,
    stop: &'a AtomicBool,
}

impl FleetOutput<'_> {
    fn check_stop(&self) -> Result<(), TraceError> {
        TraceError::unless_stopped(self.stop, "import into", self.out)
    }
}

#[derive(Serialize, Deserialize)]
struct FleetRow(IoRecord);

impl SorterRow for FleetRow {
    type Key = DevId;

    fn key(&self) -> DevId {
        self.0.device
    }
}

/// Takes records in the order of time, and sorts them by device.
struct DeviceSorter<'a> {
    sorter: Sorter<FleetRow>,
    merged: u64,
    output: FleetOutput<'a>,
}

impl RecordSink for DeviceSorter<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.take(&mut records.to_vec())
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        self.output.check_stop()?;
        for record in records.drain(..) {
            self.merged += u64::from(record.merged_into.is_some());
            let pushed = self.sorter.push(FleetRow(record));
            pushed.map_err(TraceError::io("sort the requests in", self.output.out))?;
        }
        Ok(())
    }
}

impl DeviceSorter<'_> {
    /// Writes traces of at most `rows` requests for all devices, and counts them in `fleet`.
    fn write(self, meta: &TraceMeta, rows: u64, fleet: &mut FleetMeta) -> Result<(), ImportError> {
        let output = self.output;
        if self.merged > 0 {
            let (out, merged) = (output.out.display(), self.merged);
            return Err(Fault::usage(format!("divide the requests by device into {out}: expected requests that stand alone, found {merged} that were merged into others, whose numbers would no longer fit; import without --partition-by")).into());
        }
        let sort_error = TraceError::io("sort the requests in", output.out);
        let mut open_trace: Option<FleetTrace> = None;
        let write_row = |FleetRow(record): FleetRow| {
            let device = record.device;
            let mut trace = match open_trace.take() {
                Some(trace) if trace.device == device && trace.rows_left > 0 => trace,
                previous => {
                    let full = previous.as_ref().filter(|trace| trace.device == device);
                    let (number, next_id) =
                        full.map_or((0, 0), |full| (full.number + 1, full.next_id));
                    fleet.volumes += u64::from(full.is_none());
                    fleet.traces += 1;
                    previous.map_or(Ok(()), FleetTrace::close)?;
                    FleetTrace::create(device, (number, next_id), rows, &output, meta)?
                }
            };
            fleet.rows += 1;
            trace.push(record)?;
            open_trace = Some(trace);
            Ok(())
        };
        let to_error = |error| ImportError::Trace(sort_error(error));
        self.sorter.finish(to_error, write_row)?;
        Ok(open_trace.map_or(Ok(()), FleetTrace::close)?)
    }
}

struct FleetTrace {
    device: DevId,
    /// Index of this trace among the traces of its device, from 0.
    number: u64,
    /// Id of the next record of the device.
    next_id: u64,
    rows_left: u64,
    batch: RecordBuffer,
    writer: TraceWriter,
}

impl FleetTrace {
    /// The folder's name is Hive's escape of a value with a colon, so that readers of partitioned
    /// folders find a column `device`.
    fn create(
        device: DevId,
        (number, next_id): (u64, u64),
        rows_left: u64,
        output: &FleetOutput<'_>,
        meta: &TraceMeta,
    ) -> Result<FleetTrace, TraceError> {
        output.check_stop()?;
        let DevId { major, minor } = device;
        let folder = output.folder.join(format!("device={major}%3A{minor}"));
        fs::create_dir_all(&folder).map_err(TraceError::io("make the folder", &folder))?;
        let mut meta = meta.clone();
        meta.facts.extend([fact("fleet.stretch", number)]);
        let path = folder.join(format!("{number:06}.parquet"));
        Ok(FleetTrace {
            device,
            number,
            next_id,
            rows_left,
            batch: RecordBuffer::default(),
            writer: TraceWriter::create(&path, meta)?.with_threads()?,
        })
    }

    fn push(&mut self, mut record: IoRecord) -> Result<(), TraceError> {
        record.id = self.next_id;
        self.next_id += 1;
        self.rows_left -= 1;
        self.batch.push(record, &mut self.writer)
    }

    fn close(mut self) -> Result<(), TraceError> {
        self.batch.flush(&mut self.writer)?;
        self.writer.finish().map(drop)
    }
}

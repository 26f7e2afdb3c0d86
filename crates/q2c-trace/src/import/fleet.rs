//! Imports recordings into a fleet: a folder with the traces of each device.
//!
//! Records are sorted by device in bounded memory, then written trace by trace. The folder has a
//! hidden name until it is complete, and is removed after an error. docs/formats.md describes the
//! folder.

use super::input::{self, origin};
use super::run::RecordBuffer;
use super::{ImportError, ImportOptions, Input, RecordSink, several};
use crate::container::{exists, folder};
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
const RUN: usize = 1 << 18;

/// Imports recordings, including q2c traces, into the new folder `out`. A device with more than
/// `most` requests has several traces. Returns the description, which the folder has too. No folder
/// is left after an error.
pub fn to_fleet(
    recordings: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    (out, most): (&Path, NonZeroU64),
    stop: &AtomicBool,
) -> Result<FleetMeta, ImportError> {
    let recordings = input::recordings(recordings);
    let hidden = hidden_beside(out)?;
    let into = FleetOutput {
        folder: hidden.path(),
        out,
        stop,
    };
    let mut sink = ByDevice {
        sorter: Sorter::new(into.folder, RUN),
        carried: 0,
        into,
    };
    let meta = match &recordings[..] {
        [path] => Input::recognise(path, format)?.read(path, options, &Scan::new(), &mut sink)?,
        _ => several(&recordings, format, options, &mut sink)?,
    };
    let fleet = FleetMeta {
        sources: recordings.len() as u64,
        ..described(&meta)
    };
    let fleet = sink.write(&meta, most.get(), fleet)?;
    write_description(into.folder, &fleet).map_err(failed("describe the fleet in", into.folder))?;
    fs::rename(into.folder, out).map_err(failed("name the finished folder", out))?;
    let _ = hidden.keep();
    Ok(fleet)
}

/// The part of the description that applies to all devices.
fn described(meta: &TraceMeta) -> FleetMeta {
    let origin = origin(meta);
    let host = |(name, host): (&String, &String)| {
        let host = host.strip_prefix("host ").unwrap_or(host);
        let major = name.strip_prefix("device.major.")?;
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

fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> TraceError + use<> {
    let path = path.to_owned();
    move |source| TraceError::Io {
        doing,
        path: path.clone(),
        source,
    }
}

/// Makes a hidden folder beside `out`, which must not exist. The folder is removed with this value,
/// unless it is renamed to `out`.
fn hidden_beside(out: &Path) -> Result<TempDir, TraceError> {
    if fs::symlink_metadata(out).is_ok() {
        return Err(exists(out));
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(folder(out))
        .map_err(failed("make the folder", out))
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
struct ByDevice<'a> {
    sorter: Sorter<FleetRow>,
    carried: u64,
    into: FleetOutput<'a>,
}

impl RecordSink for ByDevice<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.take(&mut records.to_vec())
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        self.into.check_stop()?;
        for record in records.drain(..) {
            self.carried += u64::from(record.merged_into.is_some());
            let pushed = self.sorter.push(FleetRow(record));
            pushed.map_err(failed("sort the requests in", self.into.out))?;
        }
        Ok(())
    }
}

impl ByDevice<'_> {
    /// Writes the traces of all devices, and counts them in the description.
    fn write(
        self,
        meta: &TraceMeta,
        most: u64,
        mut fleet: FleetMeta,
    ) -> Result<FleetMeta, ImportError> {
        let into = self.into;
        if self.carried > 0 {
            let (out, carried) = (into.out.display(), self.carried);
            return Err(Fault::usage(format!("divide the requests by device into {out}: expected requests that stand alone, found {carried} that were merged into others, whose numbers would no longer fit; import without --partition-by")).into());
        }
        let spilled = failed("sort the requests in", into.out);
        let mut open: Option<FleetTrace> = None;
        let take = |FleetRow(record): FleetRow| {
            let device = record.device;
            let mut trace = match open.take() {
                Some(trace) if trace.device == device && trace.room > 0 => trace,
                other => {
                    let same = other.as_ref().filter(|trace| trace.device == device);
                    let (number, next) = same.map_or((0, 0), |full| (full.number + 1, full.next));
                    fleet.volumes += u64::from(same.is_none());
                    fleet.traces += 1;
                    other.map_or(Ok(()), FleetTrace::close)?;
                    FleetTrace::begin(device, (number, next), most, &into, meta)?
                }
            };
            fleet.rows += 1;
            trace.take(record)?;
            open = Some(trace);
            Ok(())
        };
        self.sorter
            .finish(|error| ImportError::Trace(spilled(error)), take)?;
        open.map_or(Ok(()), FleetTrace::close)?;
        Ok(fleet)
    }
}

struct FleetTrace {
    device: DevId,
    /// Index of this trace among the traces of its device, from 0.
    number: u64,
    /// Id of the next record of the device.
    next: u64,
    room: u64,
    batch: RecordBuffer,
    writer: TraceWriter,
}

impl FleetTrace {
    /// The folder's name is Hive's escape of a value with a colon, so that readers of partitioned
    /// folders find a column `device`.
    fn begin(
        device: DevId,
        (number, next): (u64, u64),
        room: u64,
        into: &FleetOutput<'_>,
        meta: &TraceMeta,
    ) -> Result<FleetTrace, TraceError> {
        into.check_stop()?;
        let DevId { major, minor } = device;
        let folder = into.folder.join(format!("device={major}%3A{minor}"));
        fs::create_dir_all(&folder).map_err(failed("make the folder", &folder))?;
        let mut meta = meta.clone();
        let stretch = ("fleet.stretch".to_owned(), number.to_string());
        meta.facts.extend([stretch]);
        let path = folder.join(format!("{number:06}.parquet"));
        Ok(FleetTrace {
            device,
            number,
            next,
            room,
            batch: RecordBuffer::default(),
            writer: TraceWriter::create(&path, meta)?.with_threads()?,
        })
    }

    fn take(&mut self, mut record: IoRecord) -> Result<(), TraceError> {
        record.id = self.next;
        self.next += 1;
        self.room -= 1;
        self.batch.push(record, &mut self.writer)
    }

    fn close(mut self) -> Result<(), TraceError> {
        self.batch.flush(&mut self.writer)?;
        self.writer.finish().map(drop)
    }
}

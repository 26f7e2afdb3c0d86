//! Imports recordings into a fleet: a folder with the traces of each device.
//!
//! Records are sorted by device in bounded memory and then written one trace after the other. The
//! folder has a hidden name until it is whole, and is removed when anything fails. docs/formats.md
//! describes the folder.

mod row;
mod volumes;

use super::input::{self, origin};
use super::{ImportError, ImportOptions, Input, RecordSink, several};
use crate::sorter::Sorter;
use crate::{Scan, TraceError};
use q2c_model::{FleetMeta, IoRecord, TraceMeta};
use row::FleetRow;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use volumes::Volumes;

/// Rows sorted at once in memory, about 90 MB.
const RUN: usize = 1 << 19;

/// Imports recordings, q2c traces among them, into the new folder `out`. A device with more than
/// `most` requests has several traces. Returns the description, which is also in the folder. After
/// an error no folder is left.
pub fn to_fleet(
    recordings: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    (out, most): (&Path, NonZeroU64),
    stop: &AtomicBool,
) -> Result<FleetMeta, ImportError> {
    let recordings = input::recordings(recordings);
    let hidden = hidden_beside(out)?;
    let folder = hidden.path();
    let mut sink = ByDevice::new((folder, out), stop);
    let meta = match &recordings[..] {
        [path] => Input::recognise(path, format)?.read(path, options, &Scan::new(), &mut sink)?,
        _ => several(&recordings, format, options, &mut sink)?,
    };
    let fleet = FleetMeta {
        sources: recordings.len() as u64,
        ..described(&meta)
    };
    let fleet = sink.finish(Volumes::new((folder, out), meta, (most, stop)), fleet)?;
    write_description(folder, &fleet).map_err(failed("describe the fleet in", folder))?;
    fs::rename(folder, out).map_err(failed("name the finished folder", out))?;
    let _ = hidden.keep();
    Ok(fleet)
}

/// What the description of the import says of all devices.
fn described(meta: &TraceMeta) -> FleetMeta {
    const MAJOR: &str = "device.major.";
    let origin = origin(meta);
    let host = |(name, host): (&String, &String)| {
        let host = host.strip_prefix("host ").unwrap_or(host);
        Some((name.strip_prefix(MAJOR)?.to_owned(), host.to_owned()))
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

/// A hidden folder beside `out`, which must not exist. It goes away with this value, unless it gets
/// the name of `out`.
fn hidden_beside(out: &Path) -> Result<TempDir, TraceError> {
    let made = failed("make the folder", out);
    if fs::symlink_metadata(out).is_ok() {
        return Err(TraceError::Exists {
            path: out.to_owned(),
        });
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let parent = out.parent().filter(|parent| *parent != Path::new(""));
    tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(parent.unwrap_or(Path::new(".")))
        .map_err(made)
}

/// Takes records in the order of time and sorts them by device.
struct ByDevice<'a> {
    sorter: Sorter<FleetRow>,
    taken: u64,
    names: CommNames,
    carried: u64,
    out: &'a Path,
    stop: &'a AtomicBool,
}

impl<'a> ByDevice<'a> {
    fn new((folder, out): (&Path, &'a Path), stop: &'a AtomicBool) -> Self {
        ByDevice {
            sorter: Sorter::new(folder, RUN),
            taken: 0,
            names: CommNames::default(),
            carried: 0,
            out,
            stop,
        }
    }

    fn finish(self, mut volumes: Volumes<'_>, fleet: FleetMeta) -> Result<FleetMeta, ImportError> {
        if self.carried > 0 {
            return Err(ImportError::Carried {
                path: self.out.to_owned(),
                carried: self.carried,
            });
        }
        let names = self.names;
        let spilled = failed("sort the requests in", self.out);
        let spilled = |error| ImportError::Trace(spilled(error));
        let take = |row: FleetRow| Ok(volumes.take(&row, |comm| names.name(comm))?);
        self.sorter.finish(spilled, take)?;
        Ok(volumes.finish(fleet)?)
    }
}

impl RecordSink for ByDevice<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped {
                doing: "import into",
                path: self.out.to_owned(),
            });
        }
        for record in records {
            let comm = record.comm.as_deref().map(|name| self.names.number(name));
            self.carried += u64::from(record.merged_into.is_some());
            let pushed = self.sorter.push(FleetRow::new(record, self.taken, comm));
            pushed.map_err(failed("sort the requests in", self.out))?;
            self.taken += 1;
        }
        Ok(())
    }
}

#[derive(Default)]
struct CommNames {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl CommNames {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        // Memory holds fewer names than 2^32.
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    fn name(&self, number: u32) -> Option<String> {
        self.names.get(number as usize).cloned()
    }
}

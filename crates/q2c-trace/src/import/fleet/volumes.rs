use super::failed;
use super::row::FleetRow;
use crate::{TraceError, TraceWriter};
use q2c_model::{DevId, FleetMeta, IoRecord, TraceMeta};
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const BATCH: usize = 2 * 1024;

/// Takes rows in the order of device and time.
pub(super) struct Volumes<'a> {
    folder: &'a Path,
    /// The name that the folder will have, for messages.
    out: &'a Path,
    meta: TraceMeta,
    most: NonZeroU64,
    stop: &'a AtomicBool,
    open: Option<FleetTrace>,
    rows: u64,
    volumes: u64,
    traces: u64,
}

struct FleetTrace {
    device: DevId,
    /// Its place among the device's traces.
    number: u64,
    /// Id of the device's next record.
    next: u64,
    room: u64,
    batch: Vec<IoRecord>,
    writer: TraceWriter,
}

impl<'a> Volumes<'a> {
    pub(super) fn new(
        (folder, out): (&'a Path, &'a Path),
        meta: TraceMeta,
        (most, stop): (NonZeroU64, &'a AtomicBool),
    ) -> Self {
        Volumes {
            folder,
            out,
            meta,
            most,
            stop,
            open: None,
            rows: 0,
            volumes: 0,
            traces: 0,
        }
    }

    /// Takes the next row. `name` gives the name of a process by its number.
    pub(super) fn take(
        &mut self,
        row: &FleetRow,
        name: impl Fn(u32) -> Option<String>,
    ) -> Result<(), TraceError> {
        let device = row.device();
        let mut stretch = match self.open.take() {
            Some(open) if open.device == device && open.room > 0 => open,
            Some(full) if full.device == device => {
                let (number, next) = (full.number + 1, full.next);
                full.close()?;
                self.begin(device, number, next)?
            }
            other => {
                other.map_or(Ok(()), FleetTrace::close)?;
                self.volumes += 1;
                self.begin(device, 0, 0)?
            }
        };
        stretch.take(row, name)?;
        self.rows += 1;
        self.open = Some(stretch);
        Ok(())
    }

    fn begin(&mut self, device: DevId, number: u64, next: u64) -> Result<FleetTrace, TraceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped {
                doing: "import into",
                path: self.out.to_owned(),
            });
        }
        let path = trace_path(self.folder, device, number);
        let folder = path.parent().unwrap_or(self.folder);
        fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        let mut meta = self.meta.clone();
        meta.facts
            .insert("fleet.stretch".to_owned(), number.to_string());
        self.traces += 1;
        Ok(FleetTrace {
            device,
            number,
            next,
            room: self.most.get(),
            batch: Vec::with_capacity(BATCH),
            writer: TraceWriter::create(&path, meta)?.with_threads()?,
        })
    }

    /// Ends the last trace, and counts in the description what was written.
    pub(super) fn finish(self, fleet: FleetMeta) -> Result<FleetMeta, TraceError> {
        self.open.map_or(Ok(()), FleetTrace::close)?;
        Ok(FleetMeta {
            rows: self.rows,
            volumes: self.volumes,
            traces: self.traces,
            ..fleet
        })
    }
}

impl FleetTrace {
    fn take(
        &mut self,
        row: &FleetRow,
        name: impl Fn(u32) -> Option<String>,
    ) -> Result<(), TraceError> {
        self.batch.push(row.record(self.next, name));
        self.next += 1;
        self.room -= 1;
        if self.batch.len() == BATCH {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.push(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    fn close(mut self) -> Result<(), TraceError> {
        self.flush()?;
        self.writer.finish().map(drop)
    }
}

/// The path of a device's trace. The folder's name is the one that Hive gives a value with a colon,
/// so that readers of partitioned folders find a column `device`.
fn trace_path(fleet: &Path, device: DevId, number: u64) -> PathBuf {
    let DevId { major, minor } = device;
    let folder = fleet.join(format!("device={major}%3A{minor}"));
    folder.join(format!("{number:06}.parquet"))
}

use super::cell::Encoder;
use super::error::{TraceError, disk_full, exists};
use super::groups::RowGroupWriter;
use super::schema;
use super::temporary::{Temporary, sync_folder};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use q2c_model::{Exit, Fault, IoRecord, TraceMeta};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

enum Body {
    /// The caller's thread does all the work.
    Alone(Box<ArrowWriter<Temporary>>),
    Threads(Box<RowGroupWriter<Temporary>>),
}

impl Body {
    fn write(&mut self, batch: RecordBatch) -> Result<(), ParquetError> {
        match self {
            Body::Alone(parquet) => parquet.write(&batch),
            Body::Threads(groups) => groups.write(batch),
        }
    }

    fn append_key_value_metadata(&mut self, entry: KeyValue) {
        match self {
            Body::Alone(parquet) => parquet.append_key_value_metadata(entry),
            Body::Threads(groups) => groups.append_key_value_metadata(entry),
        }
    }

    fn into_inner(self) -> Result<Temporary, ParquetError> {
        match self {
            Body::Alone(parquet) => parquet.into_inner(),
            Body::Threads(groups) => groups.into_inner(),
        }
    }
}

/// Streams records into a trace file: call [`TraceWriter::create`], [`TraceWriter::push`] any
/// number of times, then [`TraceWriter::finish`].
///
/// The file has a temporary name in the target's folder until [`TraceWriter::finish`] has synced
/// and renamed it. A writer that is dropped earlier removes it. Memory: one row group, about 10 MB.
pub struct TraceWriter {
    path: PathBuf,
    meta: TraceMeta,
    body: Body,
    encoder: Encoder,
    rows: u64,
    failed: bool,
}

impl TraceWriter {
    /// Starts a trace whose final name is `path`.
    pub fn create(path: impl AsRef<Path>, meta: TraceMeta) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path));
        }
        let file = Temporary::create_for(&path).map_err(not_made(&path))?;
        Self::into(file, path, meta)
    }

    /// Starts a trace without a name in `folder`, which disappears when the program ends. The
    /// returned file holds the trace after [`TraceWriter::finish_nameless`].
    pub fn nameless(folder: &Path) -> Result<(Self, File), TraceError> {
        let failed = io_error("create a trace in the folder", folder);
        let file = Temporary::nameless(folder).map_err(&failed)?;
        let reading = file.as_file().try_clone().map_err(&failed)?;
        let writer = Self::into(file, folder.to_owned(), TraceMeta::default())?;
        Ok((writer, reading))
    }

    fn into(file: Temporary, path: PathBuf, meta: TraceMeta) -> Result<Self, TraceError> {
        let parquet = schema::properties()
            .and_then(|properties| ArrowWriter::try_new(file, schema::schema(), Some(properties)))
            .map_err(parquet_error("create trace", &path))?;
        Ok(TraceWriter {
            path,
            meta,
            body: Body::Alone(Box::new(parquet)),
            encoder: Encoder::new(),
            rows: 0,
            failed: false,
        })
    }

    /// Encodes with several threads. Call it before the first push, and only while nothing is
    /// measured, because the threads use other CPUs. Memory: up to six row groups.
    pub fn with_threads(mut self) -> Result<Self, TraceError> {
        if let Body::Alone(parquet) = self.body {
            let groups = RowGroupWriter::new(*parquet);
            let groups = groups.map_err(parquet_error("create trace", &self.path))?;
            let path = self.path.clone();
            let groups = groups.map_err(|source| TraceError::Thread { path, source })?;
            self.body = Body::Threads(Box::new(groups));
        }
        Ok(self)
    }

    /// Appends records. Slices of a thousand or more make it efficient. After an error, the trace
    /// cannot be finished.
    pub fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let batch = self.encoder.batch(records);
        let done = batch
            .map_err(ParquetError::from)
            .and_then(|batch| self.body.write(batch));
        self.failed |= done.is_err();
        self.rows += records.len() as u64;
        done.map_err(parquet_error("write trace", &self.path))
    }

    /// The description. It may change until the end, because lost and unmatched counts are known
    /// late.
    pub fn meta_mut(&mut self) -> &mut TraceMeta {
        &mut self.meta
    }

    /// Completes the file, syncs and renames it. Returns the number of records. If the name was
    /// taken meanwhile, the complete trace keeps the name in the error.
    pub fn finish(self) -> Result<u64, TraceError> {
        let (path, rows) = (self.path.clone(), self.rows);
        let file = self.completed()?;
        let synced = file.as_file().sync_all();
        synced.map_err(io_error("sync trace", &path))?;
        name(file, &path)?;
        Ok(rows)
    }

    /// Completes a trace without a name.
    pub fn finish_nameless(self) -> Result<(), TraceError> {
        self.completed().map(drop)
    }

    fn completed(mut self) -> Result<Temporary, TraceError> {
        let path = self.path;
        if self.failed {
            let path = path.display();
            let message = format!(
                "finish trace {path}: an earlier write failed, so records are missing; record it again"
            );
            return Err(Fault::new(Exit::Device, message).into());
        }
        for (key, value) in schema::entries(&self.meta, &path)? {
            let entry = KeyValue::new(key.to_owned(), value);
            self.body.append_key_value_metadata(entry);
        }
        let file = self.body.into_inner();
        file.map_err(parquet_error("finish trace", &path))
    }
}

fn not_made(path: &Path) -> impl Fn(io::Error) -> TraceError {
    move |source| match Exit::of_output(&source) {
        _ if is_full(&source) => disk_full("create trace", path),
        exit => {
            let message = format!("create trace {}: {source}", path.display());
            Fault::new(exit, message).with_source(source).into()
        }
    }
}

/// As [`Temporary::name_finished`], but a trace whose name is taken keeps its temporary name.
fn name(file: Temporary, path: &Path) -> Result<(), TraceError> {
    if let Err(refused) = file.renamed(path) {
        let kept = refused.path.keep();
        let kept = kept.map_err(|e| io_error("keep trace", path)(e.error))?;
        let (path, kept, source) = (path.display(), kept.display(), refused.error);
        let message =
            format!("name the finished trace {path}: {source}; it is kept whole as {kept}");
        return Err(Fault::new(Exit::Device, message).with_source(source).into());
    }
    sync_folder(path).map_err(io_error("sync the folder of trace", path))
}

pub(super) fn io_error(
    doing: &'static str,
    path: &Path,
) -> impl Fn(io::Error) -> TraceError + use<> {
    let path = path.to_owned();
    move |source| {
        if is_full(&source) {
            return disk_full(doing, &path);
        }
        let path = path.clone();
        TraceError::Io {
            doing,
            path,
            source,
        }
    }
}

pub(super) fn parquet_error(
    doing: &'static str,
    path: &Path,
) -> impl Fn(ParquetError) -> TraceError + use<> {
    let path = path.to_owned();
    move |source| {
        if says_full(&source) {
            return disk_full(doing, &path);
        }
        let message = format!("{doing} {}: {source}", path.display());
        Fault::new(Exit::Device, message).with_source(source).into()
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// The Parquet library keeps only the text of some system errors, so texts are compared.
fn says_full(error: &ParquetError) -> bool {
    const ENOSPC: i32 = 28;
    const EDQUOT: i32 = 122;
    let message = error.to_string();
    [ENOSPC, EDQUOT]
        .iter()
        .any(|&code| message.contains(&io::Error::from_raw_os_error(code).to_string()))
}

use super::cell::Encoder;
use super::error::{Result, TraceError, disk_full, exists_error};
use super::groups::RowGroupWriter;
use super::schema;
use super::temporary::{UnfinishedFile, sync_folder};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use q2c_model::{Exit, Fault, IoRecord, TraceMeta};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

enum BatchWriter {
    /// The caller's thread does all the work.
    Single(Box<ArrowWriter<UnfinishedFile>>),
    Threads(Box<RowGroupWriter<UnfinishedFile>>),
}

impl BatchWriter {
    fn write(&mut self, batch: RecordBatch) -> Result<(), ParquetError> {
        match self {
            BatchWriter::Single(parquet) => parquet.write(&batch),
            BatchWriter::Threads(groups) => groups.write(batch),
        }
    }

    fn append_key_value_metadata(&mut self, entry: KeyValue) {
        match self {
            BatchWriter::Single(parquet) => parquet.append_key_value_metadata(entry),
            BatchWriter::Threads(groups) => groups.append_key_value_metadata(entry),
        }
    }

    fn into_inner(self) -> Result<UnfinishedFile, ParquetError> {
        match self {
            BatchWriter::Single(parquet) => parquet.into_inner(),
            BatchWriter::Threads(groups) => groups.into_inner(),
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
    batches: BatchWriter,
    encoder: Encoder,
    rows: u64,
    failed: bool,
}

impl TraceWriter {
    /// Starts a trace whose final name is `path`.
    pub fn create(path: impl AsRef<Path>, meta: TraceMeta) -> Result<Self> {
        let path = path.as_ref().to_owned();
        if path.symlink_metadata().is_ok() {
            return Err(exists_error(&path));
        }
        let file = UnfinishedFile::create_for(&path).map_err(create_error(&path))?;
        Self::from_file(file, path, meta)
    }

    /// Starts a trace without a name in `folder`, which disappears when the program ends. The
    /// returned file holds the trace after [`TraceWriter::finish_nameless`].
    pub fn create_nameless(folder: &Path) -> Result<(Self, File)> {
        let failed = io_error("create a trace in the folder", folder);
        let file = UnfinishedFile::create_nameless(folder).map_err(&failed)?;
        let reading = file.as_file().try_clone().map_err(&failed)?;
        let writer = Self::from_file(file, folder.to_owned(), TraceMeta::default())?;
        Ok((writer, reading))
    }

    fn from_file(file: UnfinishedFile, path: PathBuf, meta: TraceMeta) -> Result<Self> {
        let parquet = schema::properties()
            .and_then(|properties| ArrowWriter::try_new(file, schema::schema(), Some(properties)))
            .map_err(parquet_error("create trace", &path))?;
        Ok(TraceWriter {
            path,
            meta,
            batches: BatchWriter::Single(Box::new(parquet)),
            encoder: Encoder::new(),
            rows: 0,
            failed: false,
        })
    }

    /// Encodes with several threads. Call it before the first push, and only while nothing is
    /// measured, because the threads use other CPUs. Memory: up to six row groups.
    pub fn with_threads(mut self) -> Result<Self> {
        if let BatchWriter::Single(parquet) = self.batches {
            let groups = RowGroupWriter::new(*parquet);
            let groups = groups.map_err(parquet_error("create trace", &self.path))?;
            let path = self.path.clone();
            let groups = groups.map_err(|source| TraceError::Thread { path, source })?;
            self.batches = BatchWriter::Threads(Box::new(groups));
        }
        Ok(self)
    }

    /// Appends records. Slices of a thousand or more make it efficient. After an error, the trace
    /// cannot be finished.
    pub fn push(&mut self, records: &[IoRecord]) -> Result<()> {
        let batch = self.encoder.batch(records);
        let written = batch
            .map_err(ParquetError::from)
            .and_then(|batch| self.batches.write(batch));
        self.failed |= written.is_err();
        self.rows += records.len() as u64;
        written.map_err(parquet_error("write trace", &self.path))
    }

    /// The description. It may change until the end, because lost and unmatched counts are known
    /// late.
    pub fn meta_mut(&mut self) -> &mut TraceMeta {
        &mut self.meta
    }

    /// Completes the file, syncs and renames it. Returns the number of records. If the name was
    /// taken meanwhile, the complete trace keeps its temporary name, which is in the error.
    pub fn finish(self) -> Result<u64> {
        let (path, rows) = (self.path.clone(), self.rows);
        let file = self.complete()?;
        let synced = file.as_file().sync_all();
        synced.map_err(io_error("sync trace", &path))?;
        name_file(file, &path)?;
        Ok(rows)
    }

    /// Completes a trace without a name.
    pub fn finish_nameless(self) -> Result<()> {
        self.complete().map(drop)
    }

    fn complete(mut self) -> Result<UnfinishedFile> {
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
            self.batches.append_key_value_metadata(entry);
        }
        let file = self.batches.into_inner();
        file.map_err(parquet_error("finish trace", &path))
    }
}

fn create_error(path: &Path) -> impl Fn(io::Error) -> TraceError {
    move |source| match Exit::from_output_error(&source) {
        _ if is_full(&source) => disk_full("create trace", path),
        exit => {
            let message = format!("create trace {}: {source}", path.display());
            Fault::new(exit, message).with_source(source).into()
        }
    }
}

/// As [`UnfinishedFile::name_finished`], but a trace whose name is taken keeps its temporary name.
fn name_file(file: UnfinishedFile, path: &Path) -> Result<()> {
    if let Err(refused) = file.rename(path) {
        let hidden = refused.path.keep();
        let hidden = hidden.map_err(|e| io_error("keep trace", path)(e.error))?;
        let (path, hidden, source) = (path.display(), hidden.display(), refused.error);
        let message =
            format!("name the finished trace {path}: {source}; it is kept whole as {hidden}");
        return Err(Fault::new(Exit::Device, message).with_source(source).into());
    }
    sync_folder(path).map_err(io_error("sync the folder of trace", path))
}

pub(super) fn io_error(
    doing: &'static str,
    path: &Path,
) -> impl Fn(io::Error) -> TraceError + use<> {
    let (path, to_error) = (path.to_owned(), TraceError::io(doing, path));
    move |source| {
        if is_full(&source) {
            return disk_full(doing, &path);
        }
        to_error(source)
    }
}

pub(super) fn parquet_error(
    doing: &'static str,
    path: &Path,
) -> impl Fn(ParquetError) -> TraceError + use<> {
    let path = path.to_owned();
    move |source| {
        if is_full_message(&source) {
            return disk_full(doing, &path);
        }
        let message = format!("{doing} {}: {source}", path.display());
        Fault::new(Exit::Device, message).with_source(source).into()
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// The Parquet library keeps only the text of some system errors, so texts are compared.
fn is_full_message(error: &ParquetError) -> bool {
    const ENOSPC: i32 = 28;
    const EDQUOT: i32 = 122;
    let message = error.to_string();
    [ENOSPC, EDQUOT]
        .iter()
        .any(|&code| message.contains(&io::Error::from_raw_os_error(code).to_string()))
}

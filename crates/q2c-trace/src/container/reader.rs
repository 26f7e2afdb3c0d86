use super::column::Column;
use super::error::{Result, input_error};
use super::scan::Scan;
use super::writer::{io_error, parquet_error};
use super::{cell, schema};
use crate::reading;
use crate::samples::{self, is_sample};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use q2c_model::{IoRecord, TraceMeta};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open trace. Its scans are independent of each other and may run in several threads.
#[derive(Debug)]
pub struct TraceReader {
    path: PathBuf,
    file: SharedFile,
    footer: ArrowReaderMetadata,
    meta: TraceMeta,
}

impl TraceReader {
    /// Opens a trace and reads its description, but no records.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let file = SharedFile::open(&path).map_err(io_error("open trace", &path))?;
        schema::check_ends(&file, &path)?;
        let footer = catch_panic("open trace", &path, || {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
        })?;
        schema::check_layout(&file, footer.metadata(), &path)?;
        let meta = schema::describe(footer.metadata().file_metadata(), &path)?;
        schema::check_columns(footer.schema(), &path)?;
        Ok(TraceReader {
            path,
            file,
            footer,
            meta,
        })
    }

    /// The description that the trace carries.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// Number of records.
    pub fn rows(&self) -> u64 {
        (self.footer.metadata().file_metadata().num_rows()).max(0) as u64
    }

    /// Returns the number of row groups in the trace, and of those that `scan` would read.
    pub fn row_groups(&self, scan: &Scan) -> (usize, usize) {
        let total = self.footer.metadata().num_row_groups();
        (total, self.needed_groups(scan).len())
    }

    /// Streams records. Columns that are never null are always read; an optional column that the
    /// scan leaves out is `None`. The iterator reports damaged pages.
    pub fn records(&self, scan: &Scan) -> Result<Records> {
        let mut scan = scan.clone();
        if let Some(columns) = &mut scan.columns {
            columns.extend(Column::ALL.iter().filter(|c| !c.is_optional()));
        }
        Ok(Records(self.batches(&scan)?))
    }

    /// Streams Arrow batches with exactly the scan's columns, in the order of the file.
    pub fn batches(&self, scan: &Scan) -> Result<Batches> {
        let types = self.footer.parquet_schema();
        let columns = scan.columns.as_deref().unwrap_or(Column::ALL);
        let mask = ProjectionMask::columns(types, columns.iter().map(|column| column.name()));
        let (file, footer) = (self.file.clone(), self.footer.clone());
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer)
            .with_projection(mask)
            .with_batch_size(scan.batch_rows)
            .with_row_groups(self.needed_groups(scan));
        if let Some(filter) = scan.filter(types) {
            builder = builder.with_row_filter(filter);
        }
        let path = self.path.clone();
        let reader = Some(catch_panic("read trace", &path, || builder.build())?);
        let bytes_per_row = self.file.len() as f64 / (self.rows() as f64).max(1.0);
        Ok(Batches {
            path,
            bytes_per_row,
            reader,
        })
    }

    /// Returns the Arrow schema of the scan's columns, in the scan's order. Its metadata holds the
    /// description of the trace, so a table with this schema still has it.
    pub fn arrow_schema(&self, scan: &Scan) -> Result<SchemaRef> {
        let entries = schema::entries(&self.meta, &self.path)?;
        let columns = scan.columns.as_deref().unwrap_or(Column::ALL);
        let fields = Vec::from_iter(columns.iter().copied().map(schema::field));
        Ok(Arc::new(Schema::new_with_metadata(fields, entries)))
    }

    fn needed_groups(&self, scan: &Scan) -> Vec<usize> {
        let groups = self.footer.metadata().row_groups().iter().enumerate();
        let needed = groups.filter(|(_, group)| scan.may_hold(group));
        needed.map(|(number, _)| number).collect()
    }
}

/// Calls the Parquet library and turns a panic into an error. The library panics on some damaged
/// pages and footers, which must not end the program.
fn catch_panic<T>(
    doing: &'static str,
    path: &Path,
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T> {
    // This is unwind safe: after an error, the caller drops everything that the call changed.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(parquet_error(doing, path)),
        Err(_) => Err(input_error(format!(
            "{doing} {}: expected whole pages, found some that break the Parquet reader: the file is damaged; copy or record it again",
            path.display()
        ))),
    }
}

/// Iterator over the Arrow batches of a scan; it ends after the first error.
pub struct Batches {
    path: PathBuf,
    bytes_per_row: f64,
    /// `None` after an error, because the reader's state is then unreliable.
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;
    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let next = || reader.next().transpose().map_err(ParquetError::from);
        let batch = catch_panic("read trace", &self.path, next);
        match &batch {
            Err(_) => self.reader = None,
            Ok(Some(batch)) => {
                reading::add_bytes_read((batch.num_rows() as f64 * self.bytes_per_row) as u64);
            }
            Ok(None) => {}
        }
        batch.transpose()
    }
}

/// Iterator over the records of a scan, one batch at a time (see [`Scan::batch_rows`]).
pub struct Records(Batches);

impl Iterator for Records {
    type Item = Result<Vec<IoRecord>>;
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.and_then(|batch| {
            let path = &self.0.path;
            // In a damaged file, an array can have another type than its field.
            catch_panic("read trace", path, || Ok(cell::records(&batch, path)))?
        }))
    }
}

/// A file that is read by offset: scans of one trace in several threads must not move each other's
/// position, which duplicated file handles share.
#[derive(Clone, Debug)]
pub(super) struct SharedFile {
    file: Arc<File>,
    len: u64,
}

impl SharedFile {
    /// Opens a regular file. Opening a pipe would wait for a writer.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !is_sample(path) && !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other(
                "expected a regular file, found a folder, a pipe or a device; name the file of the trace",
            ));
        }
        let file = Arc::new(samples::open(path)?);
        let len = file.metadata()?.len();
        Ok(SharedFile { file, len })
    }

    /// Reads up to `len` bytes from `offset`, fewer at the end of the file.
    pub(super) fn peek(&self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_from(offset).take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_from(&self, offset: u64) -> OffsetReader {
        let file = self.file.clone();
        OffsetReader { file, offset }
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<OffsetReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.read_from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // Reads through `take`, so that a damaged length allocates no more than the file holds.
        let bytes = self.peek(start, length as u64)?;
        if bytes.len() == length {
            return Ok(bytes.into());
        }
        let read = bytes.len();
        let text = format!("expected {length} bytes at offset {start}, found {read}");
        Err(ParquetError::EOF(text))
    }
}

pub(super) struct OffsetReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for OffsetReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

//! Encodes row groups in several threads and appends them in order.

use super::schema::{self, ROW_GROUP_ROWS};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Most encoding threads; the thread that makes the columns cannot keep more of them busy.
const MAX_WORKERS: usize = 4;

struct RowGroupJob {
    number: usize,
    batches: Vec<RecordBatch>,
}

enum EncodedChunk {
    New(Box<ArrowColumnChunk>),
    Known(Arc<Constant>),
}

struct EncodingWorker {
    groups: SyncSender<RowGroupJob>,
    chunks: Receiver<Result<Vec<EncodedChunk>>>,
}

/// A Parquet file whose row groups are encoded by threads. Only the caller's thread writes the
/// file.
///
/// Row group `n` goes to worker `n` modulo their number, so that results can be taken in order.
/// Memory: the columns of a row group (about 15 MB) for each thread, and of two more row groups.
pub(super) struct RowGroupWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    workers: Vec<EncodingWorker>,
    batches: Vec<RecordBatch>,
    rows: usize,
    sent: usize,
    appended: usize,
}

impl<W: Write + Send> RowGroupWriter<W> {
    /// Takes an unused writer and starts the threads: as many as the system allows, but at least
    /// one. The inner error means that no thread could be started.
    pub(super) fn new(parquet: ArrowWriter<W>) -> Result<io::Result<Self>> {
        let (file, factory) = parquet.into_serialized_writer()?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let factory = Arc::new(factory);
        let mut workers = Vec::new();
        for _ in 0..cores.min(MAX_WORKERS) {
            match start_worker(factory.clone()) {
                Ok(worker) => workers.push(worker),
                Err(refused) if workers.is_empty() => return Ok(Err(refused)),
                Err(_) => break,
            }
        }
        Ok(Ok(RowGroupWriter {
            file,
            workers,
            batches: Vec::new(),
            rows: 0,
            sent: 0,
            appended: 0,
        }))
    }

    /// Adds rows. If all threads are busy, first waits for the oldest row group and appends it.
    pub(super) fn write(&mut self, mut batch: RecordBatch) -> Result<()> {
        while self.rows + batch.num_rows() >= ROW_GROUP_ROWS {
            let fitting_rows = ROW_GROUP_ROWS - self.rows;
            self.batches.push(batch.slice(0, fitting_rows));
            batch = batch.slice(fitting_rows, batch.num_rows() - fitting_rows);
            self.send()?;
        }
        if batch.num_rows() > 0 {
            self.rows += batch.num_rows();
            self.batches.push(batch);
        }
        Ok(())
    }

    pub(super) fn append_key_value_metadata(&mut self, entry: KeyValue) {
        self.file.append_key_value_metadata(entry);
    }

    pub(super) fn into_inner(mut self) -> Result<W> {
        if !self.batches.is_empty() {
            self.send()?;
        }
        while self.appended < self.sent {
            self.append()?;
        }
        self.file.into_inner()
    }

    fn send(&mut self) -> Result<()> {
        if self.sent - self.appended > self.workers.len() {
            self.append()?;
        }
        let (number, batches) = (self.sent, std::mem::take(&mut self.batches));
        let group = RowGroupJob { number, batches };
        self.rows = 0;
        let worker = &self.workers[self.sent % self.workers.len()];
        self.sent += 1;
        worker.groups.send(group).map_err(|_| worker_ended())
    }

    /// Waits for the oldest row group that is being encoded, and appends it.
    fn append(&mut self) -> Result<()> {
        let worker = &self.workers[self.appended % self.workers.len()];
        let chunks = worker.chunks.recv().map_err(|_| worker_ended())??;
        self.appended += 1;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            match chunk {
                EncodedChunk::New(chunk) => chunk.append_to_row_group(&mut group)?,
                EncodedChunk::Known(known) => {
                    group.append_column(&known.file, known.close.clone())?
                }
            }
        }
        group.close().map(|_| ())
    }
}

fn worker_ended() -> ParquetError {
    ParquetError::General("a thread that encodes ended".to_owned())
}

fn start_worker(factory: Arc<ArrowRowGroupWriterFactory>) -> io::Result<EncodingWorker> {
    let (groups, todo) = sync_channel::<RowGroupJob>(1);
    let (done, chunks) = sync_channel(1);
    thread::Builder::new().spawn(move || {
        let mut constants = Constants::default();
        for group in todo {
            if done.send(encode(&factory, &mut constants, &group)).is_err() {
                break;
            }
        }
    })?;
    Ok(EncodingWorker { groups, chunks })
}

/// Encodes a row group column by column, so that the cache holds one encoder's state at a time.
fn encode(
    factory: &ArrowRowGroupWriterFactory,
    constants: &mut Constants,
    group: &RowGroupJob,
) -> Result<Vec<EncodedChunk>> {
    let schema = schema::schema();
    let writers = factory.create_column_writers(group.number)?;
    let mut chunks = Vec::with_capacity(writers.len());
    for (at, mut writer) in writers.into_iter().enumerate() {
        if let Some(constant) = constants.column(at, &group.batches)? {
            chunks.push(EncodedChunk::Known(constant));
            continue;
        }
        for batch in &group.batches {
            for leaf in compute_leaves(schema.field(at), batch.column(at))? {
                writer.write(&leaf)?;
            }
        }
        chunks.push(EncodedChunk::New(Box::new(writer.close()?)));
    }
    Ok(chunks)
}

struct Constant {
    cell: ArrayRef,
    rows: usize,
    /// A Parquet file of this column alone, with one row group.
    file: Bytes,
    /// Where the column is in the file, and its statistics.
    close: ColumnCloseResult,
}

/// Columns whose cells are all equal are encoded once and used for many row groups.
///
/// In most columns of a trace, all cells are empty or equal, such as the layer, the lane and the
/// depth. Encoding each of their cells would cost a hash per cell.
#[derive(Default)]
struct Constants(Vec<Option<Arc<Constant>>>);

impl Constants {
    /// Returns column number `at` of a row group if all its cells are equal.
    fn column(&mut self, at: usize, batches: &[RecordBatch]) -> Result<Option<Arc<Constant>>> {
        let Some(cell) = equal_cell(at, batches) else {
            return Ok(None);
        };
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        let fits = |known: &&mut Arc<Constant>| known.rows == rows && *known.cell == *cell;
        let known = &mut self.0[at];
        if let Some(known) = known.as_mut().filter(fits) {
            return Ok(Some(known.clone()));
        }
        let new = encode_constant(at, batches, cell, rows)?.map(Arc::new);
        known.clone_from(&new);
        Ok(new)
    }
}

fn equal_cell(at: usize, batches: &[RecordBatch]) -> Option<ArrayRef> {
    let first = batches.first()?.column(at);
    if first.is_empty() {
        return None;
    }
    let cell = first.slice(0, 1);
    let same = |batch: &RecordBatch| {
        let column = batch.column(at);
        are_equal(column) && *column.slice(0, 1) == *cell
    };
    batches.iter().all(same).then_some(cell)
}

/// True if all cells of a column are equal; false for types whose columns mostly have nulls.
fn are_equal(column: &ArrayRef) -> bool {
    fn same<T: PartialEq>(values: &[T]) -> bool {
        values.windows(2).all(|pair| pair[0] == pair[1])
    }
    match (column.null_count(), column.data_type()) {
        (nulls, _) if nulls == column.len() => true,
        (0, DataType::UInt32) => same(column.as_primitive::<UInt32Type>().values()),
        (0, DataType::UInt64) => same(column.as_primitive::<UInt64Type>().values()),
        (0, DataType::Dictionary(..)) => same(column.as_dictionary::<Int32Type>().keys().values()),
        _ => false,
    }
}

fn encode_constant(
    at: usize,
    batches: &[RecordBatch],
    cell: ArrayRef,
    rows: usize,
) -> Result<Option<Constant>> {
    let field = schema::schema().field(at).clone();
    let schema = Arc::new(Schema::new(vec![field]));
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), Some(schema::properties()?))?;
    for batch in batches {
        let column = vec![batch.column(at).clone()];
        writer.write(&RecordBatch::try_new(schema.clone(), column)?)?;
    }
    let written = writer.close()?;
    let [group] = written.row_groups() else {
        return Ok(None);
    };
    let metadata = group.column(0).clone();
    let close = ColumnCloseResult {
        bytes_written: metadata.compressed_size() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let file = file.into();
    Ok(Some(Constant {
        cell,
        rows,
        file,
        close,
    }))
}

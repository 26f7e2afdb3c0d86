//! Columns whose cells are all equal are encoded once and used for many row groups.
//!
//! Most traces have few columns with different cells. The others have no cell at all, or the same
//! in every record: the layer, the lane, the depth. Their encoding is a hash per cell.

use super::schema;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::writer::SerializedRowGroupWriter;
use std::io::Write;
use std::sync::Arc;

pub(super) struct Constant {
    cell: ArrayRef,
    rows: usize,
    /// A Parquet file of this column alone, with one row group.
    file: Bytes,
    /// Where the column lies in the file, and what it holds.
    close: ColumnCloseResult,
}

impl Constant {
    pub(super) fn append_to<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        group.append_column(&self.file, self.close.clone())
    }
}

#[derive(Default)]
pub(super) struct Constants(Vec<Option<Arc<Constant>>>);

impl Constants {
    /// The column number `at` of a row group, if all its cells are equal.
    pub(super) fn column(
        &mut self,
        at: usize,
        batches: &[RecordBatch],
    ) -> Result<Option<Arc<Constant>>> {
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
        let new = encode(at, batches, cell, rows)?.map(Arc::new);
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

/// Whether all cells of a column are equal. Types that are seldom without a null are not looked at.
fn are_equal(column: &ArrayRef) -> bool {
    fn same<T: PartialEq>(values: &[T]) -> bool {
        values.windows(2).all(|two| two[0] == two[1])
    }
    match (column.null_count(), column.data_type()) {
        (nulls, _) if nulls == column.len() => true,
        (0, DataType::UInt32) => same(column.as_primitive::<UInt32Type>().values()),
        (0, DataType::UInt64) => same(column.as_primitive::<UInt64Type>().values()),
        (0, DataType::Dictionary(..)) => same(column.as_dictionary::<Int32Type>().keys().values()),
        _ => false,
    }
}

fn encode(
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

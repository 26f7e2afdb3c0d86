//! Selects which columns and rows are read.

use super::column::Column;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::SchemaDescriptor;
use q2c_model::Nanos;
use std::ops::Range;

/// Selects what to read from a trace: everything, unless limited by columns or start.
#[derive(Clone, Debug)]
pub struct Scan {
    pub(super) columns: Option<Vec<Column>>,
    pub(super) batch_rows: usize,
    starts: Option<Range<Nanos>>,
}

impl Default for Scan {
    fn default() -> Self {
        Scan {
            columns: None,
            batch_rows: 16 * 1024,
            starts: None,
        }
    }
}

impl Scan {
    /// Selects every column of every record.
    #[must_use]
    pub fn new() -> Self {
        Scan::default()
    }

    /// Reads and decodes only these columns.
    #[must_use]
    pub fn columns(mut self, columns: &[Column]) -> Self {
        self.columns = Some(columns.to_vec());
        self
    }

    /// Reads at most this many records at once (default 16,384, at least 1).
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Selects only records that start in this range. A record starts at the first time that it has
    /// of `submit_ns`, `queue_ns`, `getrq_ns` and `issue_ns`. A record without these is left out.
    #[must_use]
    pub fn starting_in(mut self, starts: Range<Nanos>) -> Self {
        self.starts = Some(starts);
        self
    }

    /// True if by its statistics a row group may hold selected records; true without statistics.
    pub(super) fn may_hold(&self, group: &RowGroupMetaData) -> bool {
        self.starts.as_ref().is_none_or(|range| {
            let mut times = Column::STARTS.iter();
            times.any(|column| may_start_in(group, *column, range))
        })
    }

    /// The test for each row, with its columns; `None` if all rows are selected.
    pub(super) fn filter(&self, schema: &SchemaDescriptor) -> Option<RowFilter> {
        let range = self.starts.clone()?;
        let names = Column::STARTS.iter().map(|column| column.name());
        let select = move |batch: RecordBatch| {
            let rows = (0..batch.num_rows()).map(|row| start_of(&batch, row));
            let selected = rows.map(|start| start.is_some_and(|at| range.contains(&at)));
            Ok(BooleanArray::from(selected.collect::<Vec<bool>>()))
        };
        let test = ArrowPredicateFn::new(ProjectionMask::columns(schema, names), select);
        Some(RowFilter::new(vec![Box::new(test)]))
    }
}

fn start_of(batch: &RecordBatch, row: usize) -> Option<Nanos> {
    Column::STARTS.iter().find_map(|column| {
        let times = batch.column_by_name(column.name())?;
        let times = times.as_primitive::<UInt64Type>();
        times.is_valid(row).then(|| Nanos(times.value(row)))
    })
}

fn may_start_in(group: &RowGroupMetaData, column: Column, range: &Range<Nanos>) -> bool {
    let mut chunks = group.columns().iter();
    let chunk = chunks.find(|chunk| chunk.column_path().string() == column.name());
    let Some(statistics) = chunk.and_then(|chunk| chunk.statistics()) else {
        return true;
    };
    if statistics.null_count_opt() == u64::try_from(group.num_rows()).ok() {
        return false;
    }
    // The deprecated kind of statistics orders unsigned numbers as if they were signed.
    if statistics.is_min_max_deprecated() {
        return true;
    }
    let number = |bytes: Option<&[u8]>| bytes?.try_into().ok().map(u64::from_le_bytes);
    let ends = number(statistics.min_bytes_opt()).zip(number(statistics.max_bytes_opt()));
    ends.is_none_or(|(min, max)| min < range.end.0 && range.start.0 <= max)
}

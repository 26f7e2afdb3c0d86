//! Selects the columns and rows that a reader reads.

use super::column::Column;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;
use q2c_model::{DevId, Nanos};
use std::ops::Range;

/// Selects what to read of a trace: everything, unless narrowed by columns, start or device.
#[derive(Clone, Debug)]
pub struct Scan {
    pub(super) columns: Option<Vec<Column>>,
    pub(super) batch_rows: usize,
    starts: Option<Range<Nanos>>,
    device: Option<DevId>,
}

impl Default for Scan {
    fn default() -> Self {
        Scan {
            columns: None,
            batch_rows: 16 * 1024,
            starts: None,
            device: None,
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

    /// At most this many records at once (default 16,384, at least 1).
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Selects only records that start in this range. A record starts at the first time that it has
    /// of `submit_ns`, `queue_ns`, `getrq_ns` and `issue_ns`; a record with none of them is left
    /// out.
    #[must_use]
    pub fn starting_in(mut self, starts: Range<Nanos>) -> Self {
        self.starts = Some(starts);
        self
    }

    /// Selects only records of this device.
    #[must_use]
    pub fn device(mut self, device: DevId) -> Self {
        self.device = Some(device);
        self
    }

    /// Whether a row group may hold wanted records by its statistics; true when it has no
    /// statistics.
    pub(super) fn may_hold(&self, group: &RowGroupMetaData) -> bool {
        let starts = |range: &Range<Nanos>| {
            let mut times = Column::STARTS.iter();
            times.any(|column| may_start_in(group, *column, range))
        };
        self.starts.as_ref().is_none_or(starts) && self.device.is_none_or(|d| may_be(group, d))
    }

    /// The test of each row, with the columns that it needs; `None` when all rows are wanted.
    pub(super) fn filter(&self, schema: &SchemaDescriptor) -> Option<RowFilter> {
        if self.starts.is_none() && self.device.is_none() {
            return None;
        }
        let wants = self.clone();
        let names = Column::STARTS.iter().chain([&Column::Device]);
        let mask = ProjectionMask::columns(schema, names.map(|column| column.name()));
        let test = ArrowPredicateFn::new(mask, move |batch| wants.matches(&batch));
        Some(RowFilter::new(vec![Box::new(test)]))
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
        let mut wanted = vec![true; batch.num_rows()];
        if let Some(range) = &self.starts {
            for (row, wanted) in wanted.iter_mut().enumerate() {
                *wanted &= start(batch, row).is_some_and(|at| range.contains(&at));
            }
        }
        if let (Some(device), Some(column)) = (self.device, batch.column_by_name("device")) {
            let column = column.as_dictionary::<Int32Type>();
            let text = device.to_string();
            let texts = column.values().as_string::<i32>().iter();
            let same: Vec<bool> = texts.map(|value| value == Some(&text)).collect();
            for (key, wanted) in column.keys().iter().zip(&mut wanted) {
                let key = key.and_then(|key| usize::try_from(key).ok());
                *wanted &= key.is_some_and(|key| same.get(key) == Some(&true));
            }
        }
        Ok(BooleanArray::from(wanted))
    }
}

fn start(batch: &RecordBatch, row: usize) -> Option<Nanos> {
    Column::STARTS.iter().find_map(|column| {
        let times = batch.column_by_name(column.name())?;
        let times = times.as_primitive::<UInt64Type>();
        times.is_valid(row).then(|| Nanos(times.value(row)))
    })
}

fn statistics(group: &RowGroupMetaData, column: Column) -> Option<&Statistics> {
    let mut chunks = group.columns().iter();
    let chunk = chunks.find(|chunk| chunk.column_path().string() == column.name())?;
    chunk.statistics()
}

fn may_start_in(group: &RowGroupMetaData, column: Column, range: &Range<Nanos>) -> bool {
    let Some(recorded) = statistics(group, column) else {
        return true;
    };
    if recorded.null_count_opt() == u64::try_from(group.num_rows()).ok() {
        return false;
    }
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    let ends = ordered(recorded).and_then(|(min, max)| number(min).zip(number(max)));
    ends.is_none_or(|(min, max)| min < range.end.0 && range.start.0 <= max)
}

/// Smallest and largest value as bytes. The deprecated kind of statistics orders unsigned numbers
/// and text as if they were signed.
fn ordered(found: &Statistics) -> Option<(&[u8], &[u8])> {
    let usable = !found.is_min_max_deprecated();
    usable.then_some((found.min_bytes_opt()?, found.max_bytes_opt()?))
}

fn may_be(group: &RowGroupMetaData, device: DevId) -> bool {
    let text = device.to_string();
    match statistics(group, Column::Device).and_then(ordered) {
        Some((min, max)) => min <= text.as_bytes() && text.as_bytes() <= max,
        None => true,
    }
}

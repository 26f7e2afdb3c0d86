//! Reads records from Arrow batches outside a trace file, such as a table of another program.

use super::cell::{bad_value, records};
use super::column::Column;
use super::error::Result;
use super::schema;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use q2c_model::{IoRecord, TraceMeta};
use std::path::{Path, PathBuf};

/// Rows that are decoded at once. A table may be one batch of any length, and records need more
/// memory than cells.
const SLICE_ROWS: usize = 16 * 1024;

/// A table or a stream of Arrow batches with the columns of a trace.
///
/// It has every column of a trace with its type, in any order; text may have any of Arrow's
/// encodings. Other columns are ignored. Rows are in the order of their requests' starts, as in a
/// trace.
#[derive(Debug)]
pub struct Frame {
    name: PathBuf,
    meta: TraceMeta,
}

impl Frame {
    /// Makes a frame for the schema `found`; `name` is its path in messages. If the schema still
    /// has a trace's description ([`TraceReader::arrow_schema`](super::TraceReader::arrow_schema)),
    /// that is the frame's. Fails if a column is missing or of another type, or if the description
    /// is damaged.
    pub fn new(name: &Path, found: &Schema) -> Result<Self> {
        for &column in Column::ALL {
            check_type(column, found, name)?;
        }
        let default_meta = || TraceMeta {
            source: "arrow".to_owned(),
            ..TraceMeta::default()
        };
        let meta = schema::find_meta(found.metadata(), name)?.unwrap_or_else(default_meta);
        let name = name.to_owned();
        Ok(Frame { name, meta })
    }

    /// The description of the frame.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// Streams the records of a batch with the frame's schema, some thousands at once. Fails on a
    /// null in a column that is never null, and on a text without meaning in its column.
    pub fn records<'a>(
        &'a self,
        batch: &'a RecordBatch,
    ) -> impl Iterator<Item = Result<Vec<IoRecord>>> + 'a {
        let starts = (0..batch.num_rows()).step_by(SLICE_ROWS);
        starts.map(|from| {
            let slice = batch.slice(from, SLICE_ROWS.min(batch.num_rows() - from));
            self.check_nulls(&slice, from)?;
            records(&slice, &self.name)
        })
    }

    /// Checks rows, of which the first is row `from` of its batch.
    fn check_nulls(&self, slice: &RecordBatch, from: usize) -> Result<()> {
        for &column in Column::ALL.iter().filter(|column| !column.is_optional()) {
            let cells = slice.column_by_name(column.name());
            let nulls = cells.and_then(|cells| cells.logical_nulls());
            let row = nulls.and_then(|nulls| nulls.iter().position(|there| !there));
            if let Some(row) = row {
                let null = format!("null in row {} of a batch", from + row);
                return Err(bad_value(&self.name, column, "a value in every row", &null));
            }
        }
        Ok(())
    }
}

fn check_type(column: Column, found: &Schema, name: &Path) -> Result<()> {
    let field = schema::field_of(found, column, name)?;
    let is_text_column = is_text(&column.data_type());
    if *field.data_type() == column.data_type() || is_text_column && is_text(field.data_type()) {
        return Ok(());
    }
    let expected = if is_text_column {
        "text".to_owned()
    } else {
        schema::type_name(&schema::field(column))
    };
    Err(schema::wrong_type(name, column, &expected, field))
}

/// True if cells of this type are text, in any encoding that [`records`] reads.
fn is_text(found: &DataType) -> bool {
    match found {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

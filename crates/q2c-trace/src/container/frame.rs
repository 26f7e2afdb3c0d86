//! Reads records from Arrow batches that no trace file holds, such as a table of another program.

use super::column::{Column, ColumnKind};
use super::decode;
use super::error::TraceError;
use super::footer;
use super::reader::bad_value;
use super::schema::{self, type_name};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use q2c_model::{IoRecord, TraceMeta};
use std::path::{Path, PathBuf};

/// Records decoded at once. A table can be one batch of any length, and its records are larger than
/// its cells.
const SLICE: usize = 16 * 1024;

/// A table or a stream of Arrow batches with the columns of a trace.
///
/// It has every column of a trace, of the same type and in any order; text may have any of Arrow's
/// encodings for it. Columns that a trace does not have are ignored. Rows stand in the order in
/// which their requests began, as in a trace.
#[derive(Debug)]
pub struct Frame {
    name: PathBuf,
    meta: TraceMeta,
}

impl Frame {
    /// A frame of the schema `found`. `name` stands for its path in messages. The description is
    /// that of the trace from which the frame was read, if the schema still carries it
    /// ([`TraceReader::arrow_schema`](super::TraceReader::arrow_schema)). A missing column, one of
    /// another type, and a damaged description are errors.
    pub fn new(name: &Path, found: &Schema) -> Result<Self, TraceError> {
        for &column in Column::ALL {
            check(column, found, name)?;
        }
        let meta = match footer::in_schema(found.metadata(), name)? {
            Some(meta) => meta,
            None => TraceMeta {
                source: "arrow".to_owned(),
                ..TraceMeta::default()
            },
        };
        Ok(Frame {
            name: name.to_owned(),
            meta,
        })
    }

    /// The description of the frame.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// Streams the records of a batch of the frame's schema, some thousands at once. A null where a
    /// trace has none, and a text without meaning in its column, are errors.
    pub fn records<'a>(
        &'a self,
        batch: &'a RecordBatch,
    ) -> impl Iterator<Item = Result<Vec<IoRecord>, TraceError>> + 'a {
        let starts = (0..batch.num_rows()).step_by(SLICE);
        starts.map(|from| {
            let some = batch.slice(from, SLICE.min(batch.num_rows() - from));
            self.check_nulls(&some, from)?;
            decode::records(&some).map_err(|bad| bad_value(self.name.clone(), bad))
        })
    }

    /// Checks rows that begin at the row `from` of their batch.
    fn check_nulls(&self, some: &RecordBatch, from: usize) -> Result<(), TraceError> {
        for &column in Column::ALL.iter().filter(|column| !column.is_optional()) {
            let cells = some.column_by_name(column.name());
            let nulls = cells.and_then(|cells| cells.logical_nulls());
            let row = nulls.and_then(|nulls| nulls.iter().position(|there| !there));
            if let Some(row) = row {
                return Err(TraceError::Value {
                    path: self.name.clone(),
                    column,
                    expected: "a value in every row",
                    found: format!("null in row {} of a batch", from + row),
                });
            }
        }
        Ok(())
    }
}

fn check(column: Column, found: &Schema, name: &Path) -> Result<(), TraceError> {
    let path = || name.to_owned();
    let Ok(field) = found.field_with_name(column.name()) else {
        return Err(TraceError::MissingColumn {
            path: path(),
            column,
        });
    };
    let data_type = field.data_type();
    let text = column.kind() == ColumnKind::Text;
    if *data_type == column.data_type() || text && is_text(data_type) {
        return Ok(());
    }
    Err(TraceError::ColumnType {
        path: path(),
        column,
        expected: if text {
            "text".to_owned()
        } else {
            type_name(&schema::field(column))
        },
        found: type_name(field),
    })
}

/// Whether cells of this type are text, in any of the encodings that [`decode`] reads.
fn is_text(found: &DataType) -> bool {
    match found {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

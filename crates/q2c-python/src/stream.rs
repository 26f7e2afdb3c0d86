//! A trace as a stream of Arrow batches, through Arrow's PyCapsule interface.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use q2c_trace::{Batches, TraceError};

/// The batches of a scan with the columns in the order that was asked for, and with the trace's
/// description in their schema. The stream ends after the first error.
struct Stream {
    batches: Batches,
    schema: SchemaRef,
}

impl Stream {
    fn arranged(&self, batch: Result<RecordBatch, TraceError>) -> Result<RecordBatch, ArrowError> {
        let batch = batch.map_err(|error| {
            let text = format!("failed to {error}");
            ArrowError::ExternalError(text.into())
        })?;
        let fields = self.schema.fields().iter();
        let indices: Result<Vec<usize>, _> = fields
            .map(|field| batch.schema_ref().index_of(field.name()))
            .collect();
        let columns = batch.project(&indices?)?.columns().to_vec();
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(self.arranged(batch))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    batches: Batches,
    schema: SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(Stream { batches, schema }));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema);
    let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

//! Traces: opened, or imported from recordings of other tools. A trace is also a stream of Arrow
//! batches, through Arrow's PyCapsule interface.

use crate::error::{Failed, Fails, interruptible};
use crate::options::{PythonOptions, Recording};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use q2c_model::TraceMeta;
use q2c_result::Exit;
use q2c_trace::import::to_trace;
use q2c_trace::{Column, Scan, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An open q2c trace: its description, and its requests as Arrow.
///
/// Anything that speaks Arrow's PyCapsule interface takes the requests without a copy:
/// `pyarrow.table(trace)`, `polars.DataFrame(trace)`, `duckdb.sql("... FROM trace")` by way of
/// pyarrow. The file is read as the stream is consumed, 16,384 rows at once and never more than a
/// row group (131,072 rows), so `pyarrow.RecordBatchReader.from_stream(trace)` reads a trace of any
/// length in little memory. Each stream begins anew. An error of the file ends a stream with the
/// program's text, as the consumer's own exception.
///
/// Columns and their meaning: docs/sql.md. Times are in ns from the trace's start, sizes in bytes,
/// sectors have 512 bytes. `len(trace)` is the number of requests. The schema carries the
/// description, by which `q2c.analyze` of a `pyarrow` table gives what it gives for the file.
#[pyclass(frozen, module = "q2c")]
pub(crate) struct Trace {
    /// The path as it was given.
    pub path: PathBuf,
    reader: TraceReader,
    scan: Scan,
    columns: Vec<Column>,
}

/// Opens a q2c trace. `columns` are the columns of the stream; None for all.
#[pyfunction]
#[pyo3(signature = (path, columns=None))]
pub(crate) fn read(py: Python<'_>, path: PathBuf, columns: Option<Vec<String>>) -> PyResult<Trace> {
    let columns: Vec<Column> = match columns {
        None => Column::ALL.to_vec(),
        Some(names) => {
            let columns = names.iter().map(|name| name.parse::<Column>());
            let columns: Result<_, _> = columns.collect();
            let unknown = |error| format!("read {}: {error}", path.display());
            columns.map_err(unknown).or_exit(Exit::Usage)?
        }
    };
    let opened = py.detach(|| TraceReader::open(&path));
    Ok(Trace {
        reader: opened.map_err(unread)?,
        path,
        scan: Scan::new().columns(&columns),
        columns,
    })
}

/// Imports recordings of other tools into a new trace. Several recordings are merged by time.
#[pyfunction]
pub(crate) fn import_(
    py: Python<'_>,
    recordings: Vec<PathBuf>,
    out: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<Trace> {
    let given = PythonOptions::new(options)?;
    let Recording { format, import } = Recording::take(&given)?;
    given.end("import_")?;
    let format = format.as_deref();
    interruptible(py, |stop| {
        Ok(to_trace(&recordings, format, &import, &out, stop)?)
    })?;
    read(py, out, None)
}

impl Trace {
    pub(crate) fn meta(&self) -> &TraceMeta {
        self.reader.meta()
    }
}

#[pymethods]
impl Trace {
    /// The path as it was given.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The program or format from which the trace comes.
    #[getter]
    fn source(&self) -> &str {
        &self.reader.meta().source
    }

    /// Version of the source.
    #[getter]
    fn source_version(&self) -> &str {
        &self.reader.meta().source_version
    }

    /// The clock of all times.
    #[getter]
    fn clock(&self) -> &str {
        &self.reader.meta().clock
    }

    /// The file to which the offsets belong, if the target was a file.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.reader.meta().file.as_deref()
    }

    /// Unix time of time 0, ns; None if the source does not state it.
    #[getter]
    fn start_unix_ns(&self) -> Option<u64> {
        self.reader.meta().start_unix_ns
    }

    /// Number of events that the source lost.
    #[getter]
    fn lost(&self) -> u64 {
        self.reader.meta().lost
    }

    /// Number of events that could not be matched, by reason.
    #[getter]
    fn unmatched(&self) -> BTreeMap<String, u64> {
        self.reader.meta().unmatched.clone()
    }

    /// Other facts about the machine and the job, by name.
    #[getter]
    fn facts(&self) -> BTreeMap<String, String> {
        self.reader.meta().facts.clone()
    }

    /// Columns of the stream, in its order.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name()).collect()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.reader.rows()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let (path, rows) = (self.path.display().to_string(), self.reader.rows());
        let source = &self.reader.meta().source;
        format!("<q2c.Trace {path:?}: {rows} requests, source {source}>")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.reader.arrow_schema(&self.scan).map_err(unread)?;
        let schema = FFI_ArrowSchema::try_from(&*schema);
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as a stream. Only the trace's own schema is offered, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let schema = self.reader.arrow_schema(&self.scan).map_err(unread)?;
        let batches = py.detach(|| self.reader.batches(&self.scan));
        let order = schema.clone();
        let batches = batches.map_err(unread)?;
        let batches = batches.map(move |batch| arranged(batch, &order));
        let reader = RecordBatchIterator::new(batches, schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn unread(error: TraceError) -> Failed {
    error.unread().into()
}

/// A batch with its columns in the requested order, and with the trace's description in its schema.
fn arranged(
    batch: Result<RecordBatch, TraceError>,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let batch = batch.map_err(|error| {
        let text = format!("failed to {error}");
        ArrowError::ExternalError(text.into())
    })?;
    let fields = schema.fields().iter();
    let indices = fields.map(|field| batch.schema_ref().index_of(field.name()));
    let indices: Vec<usize> = indices.collect::<Result<_, _>>()?;
    let columns = batch.project(&indices)?.columns().to_vec();
    RecordBatch::try_new(schema.clone(), columns)
}

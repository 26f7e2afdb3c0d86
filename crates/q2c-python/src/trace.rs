//! Traces: opened, or imported from recordings of other tools. A trace is also a stream of Arrow
//! batches, through Arrow's PyCapsule interface. Other functions take the path of a recording,
//! a trace, a table, or latencies.

use crate::error::{Failure, OrFailure, interruptible};
use crate::options::{PythonOptions, Recording};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::FromPyArrow;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use q2c_model::TraceMeta;
use q2c_result::Exit;
use q2c_trace::import::{RecordSink, to_trace};
use q2c_trace::{Column, Frame, Scan, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    pub path: PathBuf,
    reader: TraceReader,
    scan: Scan,
    columns: Vec<Column>,
}

/// Opens a q2c trace. `columns` are the columns of the stream; None for all.
#[pyfunction]
#[pyo3(signature = (path, columns=None))]
pub(crate) fn read(py: Python<'_>, path: PathBuf, columns: Option<Vec<String>>) -> PyResult<Trace> {
    let columns = columns.map_or_else(
        || Ok(Column::ALL.to_vec()),
        |names| names.iter().map(|name| name.parse()).collect(),
    );
    let unknown = |error: String| format!("read {}: {error}", path.display());
    let columns: Vec<Column> = columns.map_err(unknown).or_exit(Exit::Usage)?;
    let opened = py.detach(|| TraceReader::open(&path));
    Ok(Trace {
        reader: opened.map_err(read_failure)?,
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
    let keywords = PythonOptions::new(options)?;
    let Recording { format, import } = Recording::from_options(&keywords)?;
    keywords.refuse_remaining("import_")?;
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
        let schema = self.reader.arrow_schema(&self.scan).map_err(read_failure)?;
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
        let schema = self.reader.arrow_schema(&self.scan).map_err(read_failure)?;
        let batches = py.detach(|| self.reader.batches(&self.scan));
        let order = schema.clone();
        let batches = batches.map_err(read_failure)?;
        let batches = batches.map(move |batch| order_columns(&batch.map_err(arrow_error)?, &order));
        let reader = RecordBatchIterator::new(batches, schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn read_failure(error: TraceError) -> Failure {
    error.into_read_fault().into()
}

fn arrow_error(error: TraceError) -> ArrowError {
    ArrowError::ExternalError(format!("failed to {error}").into())
}

/// A batch with its columns in the requested order, and with the trace's description in its schema.
fn order_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let fields = schema.fields().iter();
    let indices = fields.map(|field| batch.schema_ref().index_of(field.name()));
    let indices: Vec<usize> = indices.collect::<Result<_, _>>()?;
    let columns = batch.project(&indices)?.columns().to_vec();
    RecordBatch::try_new(schema.clone(), columns)
}

/// A table of another program, as a stream of Arrow batches that can be read once.
pub(crate) struct Table(RecordBatchStreamReader);

pub(crate) enum Source {
    /// The path of a recording, or of a trace.
    Path(PathBuf),
    /// A table with the columns of a trace.
    Table(Table),
    /// Latencies; an option states their unit.
    Latencies(Vec<f64>),
}

impl Source {
    pub(crate) fn from_object(object: &Bound<'_, PyAny>) -> PyResult<Source> {
        if let Ok(trace) = object.cast::<Trace>() {
            return Ok(Source::Path(trace.get().path.clone()));
        }
        if let Ok(path) = object.extract::<PathBuf>() {
            return Ok(Source::Path(path));
        }
        // A column has a stream too, but no schema, so it can only be latencies.
        if object.hasattr("__arrow_c_stream__")?
            && let Ok(stream) = RecordBatchStreamReader::from_pyarrow_bound(object)
        {
            return Ok(Source::Table(Table(stream)));
        }
        object.extract().map(Source::Latencies).map_err(|_| {
            let class = object.get_type();
            PyTypeError::new_err(format!("expected a path, a q2c.Trace, a table with __arrow_c_stream__, or numbers; found {class}"))
        })
    }
}

pub(crate) fn latencies_error() -> PyErr {
    let message = "expected a path, a q2c.Trace or a table with __arrow_c_stream__; found numbers";
    PyTypeError::new_err(message)
}

type TraceResult = Result<TraceMeta, TraceError>;

impl Table {
    /// Passes the records on. Messages call the table `name`. Returns the table's description.
    pub(crate) fn read(self, name: &Path, sink: &mut dyn RecordSink) -> TraceResult {
        let frame = Frame::new(name, &self.0.schema())?;
        let to_error = TraceError::io("read trace", name);
        for batch in self.0 {
            let batch = batch.map_err(|e| to_error(std::io::Error::other(e.to_string())))?;
            for records in frame.records(&batch) {
                sink.take(&mut records?)?;
            }
        }
        Ok(frame.meta().clone())
    }
}

//! The input of a function: the path of a recording, a trace, a table, or latencies.

use crate::trace::Trace;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use q2c_model::{IoRecord, TraceMeta};
use q2c_trace::import::RecordSink;
use q2c_trace::{Frame, TraceError};
use std::path::{Path, PathBuf};

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
            PyTypeError::new_err(format!(
                "expected a path, a q2c.Trace, a table with __arrow_c_stream__, or numbers; found {class}"
            ))
        })
    }
}

pub(crate) fn not_numbers() -> PyErr {
    let message = "expected a path, a q2c.Trace or a table with __arrow_c_stream__; found numbers";
    PyTypeError::new_err(message)
}

impl Table {
    /// Passes the records on; messages call the table `name`. Returns its description.
    pub(crate) fn read(
        self,
        name: &Path,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, TraceError> {
        let frame = Frame::new(name, &self.0.schema())?;
        for batch in self.0 {
            let batch = batch.map_err(|error| TraceError::Io {
                doing: "read trace",
                path: name.to_owned(),
                source: std::io::Error::other(error.to_string()),
            })?;
            for records in frame.records(&batch) {
                let records: Vec<IoRecord> = records?;
                sink.push(&records)?;
            }
        }
        Ok(frame.meta().clone())
    }
}

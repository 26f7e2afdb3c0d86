//! Analyses where the I/Os of a recording, a trace or a table spend their time; also in parts that
//! are joined later.

use crate::error::{Failure, interruptible};
use crate::options::{PythonOptions, Recording, duration};
use crate::result::NativeResult;
use crate::trace::{Source, Trace, latencies_error};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use q2c_analyze::{Options, PartialAnalysis as State, RecordingAnalysis, recording};
use q2c_model::{Fault, IoRecord, Layer, Nanos, TraceMeta};
use q2c_result::Exit;
use q2c_trace::import::{ImportError, ImportOptions, Input, RecordSink};
use q2c_trace::{Scan, TraceError};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Analyses a source. `window` holds two times between which I/Os are kept one by one. `name` is
/// the name of a table in the result.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    window: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<NativeResult> {
    let window = window
        .map(|(from, to)| time_range(&from, &to))
        .transpose()?;
    let keywords = PythonOptions::new(options)?;
    let result = match Source::from_object(source)? {
        Source::Path(path) => {
            let Recording { format, import } = Recording::from_options(&keywords)?;
            keywords.refuse_remaining("analyze")?;
            let options = Options {
                format,
                import,
                window,
                ..Options::default()
            };
            interruptible(py, |stop| Ok(recording(&path, &options, stop)?))?
        }
        Source::Table(table) => {
            keywords.refuse_remaining("analyze of a table")?;
            let path = Path::new(name);
            interruptible(py, |stop| {
                let mut analysis = RecordingAnalysis::new(path, window, stop);
                let meta = table.read(path, &mut analysis);
                Ok(analysis.finish(meta.map_err(ImportError::BadTrace)?)?)
            })?
        }
        Source::Latencies(_) => return Err(latencies_error()),
    };
    Ok(NativeResult::new(result))
}

fn time_range(from: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<Range<Nanos>> {
    let (from, to) = (duration("window", from)?, duration("window", to)?);
    if from < to {
        return Ok(from..to);
    }
    let message =
        format!("keep the I/Os of {from}..{to}: expected two times, the first the smaller");
    Err(Failure::new(Exit::Usage, message).into())
}

/// The analysis of a part of a recording, which the Python class `q2c.AnalysisState` wraps.
#[pyclass(module = "q2c._native")]
pub(crate) struct AnalysisState {
    /// `None` after an update that failed or was interrupted, since it took in only some I/Os.
    state: Option<State>,
}

#[pymethods]
impl AnalysisState {
    // `later` is true if the recording has a part before this one.
    #[new]
    fn new(layer: Option<&str>, later: bool) -> PyResult<Self> {
        let parse = |name: &str| match name {
            "block" => Ok(Layer::Block),
            "user" => Ok(Layer::User),
            other => {
                let message = format!("analyze the layer `{other}`: expected block or user");
                Err(Failure::new(Exit::Usage, message))
            }
        };
        Ok(State::new(layer.map(parse).transpose()?, later).into())
    }

    /// Adds the next I/Os. Messages call a table `name`.
    fn update(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
        let feed = feed_of(Source::from_object(source)?, name.into())?;
        let mut state = self.state.take().ok_or_else(incomplete_error)?;
        interruptible(py, |stop| {
            Ok(feed(&mut |records: &[IoRecord]| {
                TraceError::unless_stopped(stop, "analyze", name.as_ref())?;
                state.push(records)
            })?)
        })?;
        self.state = Some(state);
        Ok(())
    }

    /// Joins this part with the part that follows in time.
    fn then(&self, py: Python<'_>, later: &Self) -> PyResult<Self> {
        self.join(py, later, State::append)
    }

    /// Joins this part with the part of other devices over the same time.
    fn beside(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.join(py, other, State::merge_devices)
    }

    /// The result, with the facts in the description of `trace`.
    fn finish(&self, py: Python<'_>, trace: Option<&Trace>, name: &str) -> PyResult<NativeResult> {
        let state = self.complete_state()?;
        let result = py.detach(|| {
            let arrow = || TraceMeta {
                source: "arrow".to_owned(),
                ..TraceMeta::default()
            };
            let meta = trace.map_or_else(arrow, |trace| trace.meta().clone());
            let path = trace.map_or(Path::new(name), |trace| &trace.path);
            state.clone().finish(path, meta)
        });
        Ok(NativeResult::new(result.map_err(Failure::from)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.complete_state()?;
        let bytes = py.detach(|| state.to_bytes()).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> Result<Self, Failure> {
        Ok(py.detach(|| State::from_bytes(bytes))?.into())
    }

    /// Number of I/Os.
    #[getter]
    fn requests(&self) -> PyResult<u64> {
        Ok(self.complete_state()?.requests())
    }

    /// The layer of the I/Os; None before the first.
    #[getter]
    fn layer(&self) -> PyResult<Option<&'static str>> {
        Ok(self.complete_state()?.layer().map(Layer::name))
    }
}

impl From<State> for AnalysisState {
    fn from(state: State) -> Self {
        let state = Some(state);
        AnalysisState { state }
    }
}

impl AnalysisState {
    fn complete_state(&self) -> PyResult<&State> {
        self.state.as_ref().ok_or_else(incomplete_error)
    }

    fn join(
        &self,
        py: Python<'_>,
        other: &Self,
        join: fn(State, State) -> Result<State, Fault>,
    ) -> PyResult<Self> {
        let (first, second) = (self.complete_state()?, other.complete_state()?);
        let joined = py.detach(|| join(first.clone(), second.clone()));
        Ok(joined.map_err(Failure::from)?.into())
    }
}

fn incomplete_error() -> PyErr {
    let message = "use an analysis whose update failed: it has some of the I/Os only; make it anew";
    Failure::new(Exit::Usage, message).into()
}

type Feed = Box<dyn FnOnce(&mut dyn RecordSink) -> Result<TraceMeta, ImportError> + Send>;

/// Returns a function that passes a source's records to a sink. Messages call a table `name`.
fn feed_of(source: Source, name: PathBuf) -> PyResult<Feed> {
    match source {
        Source::Path(path) => Ok(Box::new(move |sink| {
            let input = Input::recognise(&path, None)?;
            input.read(&path, &ImportOptions::default(), &Scan::new(), sink)
        })),
        Source::Table(table) => Ok(Box::new(move |sink| {
            table.read(&name, sink).map_err(ImportError::BadTrace)
        })),
        Source::Latencies(_) => Err(latencies_error()),
    }
}

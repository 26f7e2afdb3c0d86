//! Where the I/Os of a recording, a trace or a table spend their time.

use crate::error::Failed;
use crate::given::{PythonOptions, duration};
use crate::interrupt::interruptible;
use crate::options::Recording;
use crate::result::Made;
use crate::source::{Source, Table, not_numbers};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_analyze::{Options, RecordingAnalysis, recording};
use q2c_model::{Fault, Nanos};
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::import::ImportError;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Analyses a source. `window` are two times whose I/Os are kept one by one, `name` is what a table
/// is called in the result.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    window: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let window = window.map(|(from, to)| part(&from, &to)).transpose()?;
    let given = PythonOptions::new(options)?;
    let result = match Source::from_object(source)? {
        Source::Path(path) => {
            let Recording { format, import } = Recording::take(&given)?;
            given.end("analyze")?;
            let options = Options {
                format,
                import,
                window,
                ..Options::default()
            };
            interruptible(py, |stop| Ok(recording(&path, &options, stop)?))?
        }
        Source::Table(table) => {
            given.end("analyze of a table")?;
            let path = Path::new(name);
            interruptible(py, |stop| Ok(of_table(table, path, window, stop)?))?
        }
        Source::Latencies(_) => return Err(not_numbers()),
    };
    Ok(Made::new(result))
}

fn of_table(
    table: Table,
    name: &Path,
    window: Option<Range<Nanos>>,
    stop: &AtomicBool,
) -> Result<AnalyzeResult, Fault> {
    let mut analysis = RecordingAnalysis::new(name, window, stop);
    let meta = table.read(name, &mut analysis);
    analysis.finish(meta.map_err(ImportError::BadTrace)?)
}

fn part(from: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<Range<Nanos>> {
    let (from, to) = (duration("window", from)?, duration("window", to)?);
    if from < to {
        return Ok(from..to);
    }
    let message =
        format!("keep the I/Os of {from}..{to}: expected two times, the first the smaller");
    Err(Failed::new(Exit::Usage, message).into())
}

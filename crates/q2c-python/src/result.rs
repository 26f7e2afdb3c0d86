//! Results of any kind, and the forms in which they are drawn.

use crate::error::Failure;
use pyo3::prelude::*;
use q2c_report::Reported;
use q2c_report::stored_results::{self, ReportedResult};
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_run::read_result_text;
use serde::Serialize;
use std::path::PathBuf;

/// A result of q2c.
#[pyclass(frozen, name = "Made", module = "q2c._native")]
pub(crate) struct NativeResult(Box<dyn ReportedResult>);

impl NativeResult {
    pub(crate) fn new(result: impl Reported + Serialize + Send + Sync + 'static) -> Self {
        NativeResult(Box::new(result))
    }
}

#[pymethods]
impl NativeResult {
    /// The JSON that the program prints.
    fn json(&self, py: Python<'_>) -> Result<String, Failure> {
        Ok(py.detach(|| self.0.json())?)
    }

    /// The page with charts.
    fn page(&self, py: Python<'_>) -> Result<String, Failure> {
        Ok(py.detach(|| self.0.document().page())?)
    }

    /// The tables that the program prints, `width` columns wide.
    fn table(&self, py: Python<'_>, width: u16) -> String {
        py.detach(|| self.0.document().text(Screen::new(width, false)))
    }
}

/// Reads the result of a run from its folder, or from a file with a result.
#[pyfunction]
pub(crate) fn load_run(py: Python<'_>, run: PathBuf) -> Result<NativeResult, Failure> {
    py.detach(|| {
        let (path, text) = read_result_text(&run)?;
        let to_failure =
            |reason| Failure::new(Exit::Input, format!("read {}: {reason}", path.display()));
        Ok(NativeResult(
            stored_results::read(&text).map_err(to_failure)?,
        ))
    })
}

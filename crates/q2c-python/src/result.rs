//! Results of any kind, and the forms in which they are drawn.

use crate::error::Failed;
use pyo3::prelude::*;
use q2c_report::Reported;
use q2c_report::kept::{self, Shown};
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_run::kept_text;
use serde::Serialize;
use std::path::PathBuf;

/// A result of q2c.
#[pyclass(frozen, module = "q2c._native")]
pub(crate) struct Made(Box<dyn Shown>);

impl Made {
    pub(crate) fn new(result: impl Reported + Serialize + Send + Sync + 'static) -> Self {
        Made(Box::new(result))
    }
}

#[pymethods]
impl Made {
    /// The JSON that the program prints.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let json = py.detach(|| self.0.json());
        Ok(json.map_err(Failed::from)?)
    }

    /// The page with charts.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| self.0.document().page());
        Ok(page.map_err(Failed::from)?)
    }

    /// The tables that the program prints, `width` columns wide.
    fn table(&self, py: Python<'_>, width: u16) -> String {
        py.detach(|| self.0.document().text(Screen::new(width, false)))
    }
}

/// Reads the result of a run from its folder, or from a file with a result.
#[pyfunction]
pub(crate) fn load_run(py: Python<'_>, run: PathBuf) -> PyResult<Made> {
    let read = py.detach(|| {
        let (path, text) = kept_text(&run).map_err(Failed::from)?;
        let unreadable =
            |reason| Failed::new(Exit::Input, format!("read {}: {reason}", path.display()));
        kept::read(&text).map_err(unreadable)
    });
    Ok(Made(read?))
}

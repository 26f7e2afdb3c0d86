//! Results, whatever made them, and the forms in which they are drawn.

use crate::error::Failed;
use pyo3::prelude::*;
use q2c_report::Reported;
use q2c_report::kept::{Shown, StoredResult};
use q2c_report::terminal::Screen;
use serde::Serialize;

/// A result of q2c.
#[pyclass(frozen, module = "q2c._native")]
pub(crate) struct Made(Box<dyn Shown>);

impl Made {
    pub(crate) fn new(result: impl Reported + Serialize + Send + Sync + 'static) -> Self {
        Made(Box::new(result))
    }
}

impl From<Box<dyn StoredResult>> for Made {
    fn from(result: Box<dyn StoredResult>) -> Self {
        Made(result)
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

    /// The tables that the program prints, in so many columns.
    fn table(&self, py: Python<'_>, width: u16) -> String {
        py.detach(|| self.0.document().text(Screen::new(width, false)))
    }
}

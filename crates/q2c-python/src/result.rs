//! Results, whatever made them, and the forms in which they are drawn.

use crate::error::{Failed, Fails};
use pyo3::prelude::*;
use q2c_report::Reported;
use q2c_report::kept::{DrawError, Kept};
use q2c_report::terminal::{self, Screen};
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use q2c_result::sim::SimResult;
use q2c_result::sweep::SweepResult;
use q2c_result::volumes::{VolumesChoice, VolumesResult};
use serde::Serialize;

/// A result of q2c.
#[pyclass(frozen, module = "q2c._native")]
pub struct Made(Form);

enum Form {
    Analysis(Box<AnalyzeResult>),
    Simulation(Box<SimResult>),
    Sweep(Box<SweepResult>),
    Volumes(Box<VolumesResult>),
    Choice(Box<VolumesChoice>),
    Kept(Box<dyn Kept>),
}

impl From<AnalyzeResult> for Made {
    fn from(result: AnalyzeResult) -> Self {
        Made(Form::Analysis(Box::new(result)))
    }
}

impl From<SimResult> for Made {
    fn from(result: SimResult) -> Self {
        Made(Form::Simulation(Box::new(result)))
    }
}

impl From<SweepResult> for Made {
    fn from(result: SweepResult) -> Self {
        Made(Form::Sweep(Box::new(result)))
    }
}

impl From<VolumesResult> for Made {
    fn from(result: VolumesResult) -> Self {
        Made(Form::Volumes(Box::new(result)))
    }
}

impl From<VolumesChoice> for Made {
    fn from(result: VolumesChoice) -> Self {
        Made(Form::Choice(Box::new(result)))
    }
}

impl From<Box<dyn Kept>> for Made {
    fn from(result: Box<dyn Kept>) -> Self {
        Made(Form::Kept(result))
    }
}

#[pymethods]
impl Made {
    /// The JSON that the program prints.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| match &self.0 {
            Form::Analysis(result) => json(result),
            Form::Simulation(result) => json(result),
            Form::Sweep(result) => json(result),
            Form::Volumes(result) => json(result),
            Form::Choice(result) => json(result),
            Form::Kept(result) => result.json().map_err(Failed::from),
        })
        .map_err(PyErr::from)
    }

    /// The page with charts; None where results of this kind have none.
    fn page(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let page = py.detach(|| {
            match &self.0 {
                Form::Analysis(result) => result.document().page().map_err(DrawError::from),
                Form::Simulation(result) => result.document().page().map_err(DrawError::from),
                Form::Volumes(_) | Form::Choice(_) => return Ok(None),
                Form::Sweep(result) => result.document().page().map_err(DrawError::from),
                Form::Kept(result) => match result.page() {
                    Err(DrawError::NoForm { .. }) => return Ok(None),
                    page => page,
                },
            }
            .map(Some)
        });
        Ok(page.map_err(Failed::from)?)
    }

    /// The tables that the program prints, in so many columns.
    fn table(&self, py: Python<'_>, width: u16) -> String {
        let screen = Screen::new(width, false);
        py.detach(|| match &self.0 {
            Form::Analysis(result) => result.document().text(screen),
            Form::Simulation(result) => result.document().text(screen),
            Form::Sweep(result) => result.document().text(screen),
            Form::Volumes(result) => terminal::volumes(result, screen),
            Form::Choice(result) => terminal::volumes_choice(result),
            Form::Kept(result) => result.table(screen),
        })
    }
}

fn json(result: &impl Serialize) -> Result<String, Failed> {
    serde_json::to_string_pretty(result).or_exit(Exit::Internal)
}

//! Results that runs left on the disk.

use crate::error::Failed;
use crate::result::Made;
use pyo3::prelude::*;
use q2c_report::kept;
use q2c_result::Exit;
use q2c_run::kept_text;
use std::path::PathBuf;

/// Reads the result of a run: its folder, or a file with a result.
#[pyfunction]
pub(crate) fn load_run(py: Python<'_>, run: PathBuf) -> PyResult<Made> {
    let read = py.detach(|| {
        let (path, text) = kept_text(&run).map_err(Failed::from)?;
        let unreadable =
            |reason| Failed::new(Exit::Input, format!("read {}: {reason}", path.display()));
        kept::read(&text).map_err(unreadable)
    });
    Ok(read?.into())
}

//! Options that were given by name, as the program has them on its command line.

use crate::error::Failed;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_model::{Bytes, Nanos, parse_duration, parse_size};
use q2c_result::Exit;
use std::fmt::Display;
use std::str::FromStr;

/// Options by name. Each is taken once; those that are left are unknown.
pub(crate) struct PythonOptions<'py>(Bound<'py, PyDict>);

impl<'py> PythonOptions<'py> {
    /// The options in `options`, without those that are None.
    pub(crate) fn new(options: &Bound<'py, PyDict>) -> PyResult<Self> {
        let given = options.copy()?;
        for (name, value) in options {
            if value.is_none() {
                given.del_item(name)?;
            }
        }
        Ok(PythonOptions(given))
    }

    fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.0.get_item(name)?;
        if value.is_some() {
            self.0.del_item(name)?;
        }
        Ok(value)
    }

    pub(crate) fn value<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Option<T>> {
        let value = self.take(name)?;
        let value = value.map(|value| value.extract::<T>().map_err(Into::into));
        value.transpose()
    }

    /// The option as a text that the program understands.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> PyResult<Option<T>> {
        let text = self.value::<String>(name)?;
        let parsed = text.map(|text| text.parse().map_err(|error| wrong(name, &text, error)));
        parsed.transpose()
    }

    /// The option as a duration: a text with a unit, or a number of nanoseconds.
    pub(crate) fn duration(&self, name: &str) -> PyResult<Option<Nanos>> {
        let value = self.take(name)?;
        value.map(|value| duration(name, &value)).transpose()
    }

    /// The option as a size: a text such as `4k`, or a number of bytes.
    pub(crate) fn size(&self, name: &str) -> PyResult<Option<Bytes>> {
        let Some(value) = self.take(name)? else {
            return Ok(None);
        };
        let text = match value.extract::<u64>() {
            Ok(bytes) => bytes.to_string(),
            Err(_) => value.extract::<String>()?,
        };
        let size = parse_size(&text).map_err(|error| wrong(name, &text, error))?;
        Ok(Some(size))
    }

    pub(crate) fn end(self, function: &str) -> PyResult<()> {
        match self.0.keys().iter().next() {
            None => Ok(()),
            Some(name) => Err(PyTypeError::new_err(format!(
                "{function}() got an unexpected keyword argument '{name}'"
            ))),
        }
    }
}

/// A duration: a text with a unit, or a number of nanoseconds.
pub(crate) fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    if let Ok(ns) = value.extract::<u64>() {
        return Ok(Nanos(ns));
    }
    let text = value.extract::<String>()?;
    parse_duration(&text).map_err(|error| wrong(name, &text, error))
}

pub(crate) fn wrong(name: &str, found: &str, why: impl Display) -> PyErr {
    let option = name.replace('_', "-");
    Failed::new(Exit::Usage, format!("use `{found}` for {option}: {why}")).into()
}

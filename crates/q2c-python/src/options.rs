//! Options that several functions share: reading, selection, length and costs. A caller names them
//! as on the program's command line.

use crate::error::Failure;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_model::{Bytes, Nanos, parse_duration, parse_size};
use q2c_result::{Exit, Warning};
use q2c_run::whole_file;
use q2c_sim::{Arrival, TraceOptions};
use q2c_study::{ChosenCosts, Costs, LaneFile, LaneStorage, SimTrace, SourceOptions, Timing};
use q2c_trace::import::{ColumnMap, ImportOptions};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The format of a recording, and the facts that the recording itself lacks.
pub(crate) struct Recording {
    pub format: Option<String>,
    pub import: ImportOptions,
}

impl Recording {
    pub(crate) fn from_options(keywords: &PythonOptions<'_>) -> PyResult<Self> {
        let sort = keywords.take_value::<bool>("sort")?.unwrap_or(false);
        let columns = keywords.take_value::<BTreeMap<String, String>>("columns")?;
        let columns = columns.unwrap_or_default().into_iter();
        let columns = columns.map(|(field, header)| ColumnMap { field, header });
        Ok(Recording {
            format: keywords.take_value("format")?,
            import: ImportOptions {
                unit: keywords.take_parsed("unit")?,
                op: keywords.take_parsed("op")?,
                bytes: keywords.take_size("bs")?,
                offset_unit: keywords.take_size("offset_unit")?,
                read_flag: take_read_flag(keywords)?,
                sort: sort.then(temporary_folder),
                columns: columns.collect(),
                delimiter: take_delimiter(keywords)?,
                blkparse_format: keywords.take_value("blkparse_format")?,
                skip_bad: keywords.take_value("skip_bad")?.unwrap_or(false),
                ..ImportOptions::default()
            },
        })
    }
}

fn take_read_flag(keywords: &PythonOptions<'_>) -> PyResult<Option<u8>> {
    match keywords.take_value::<i64>("read_flag")? {
        None => Ok(None),
        Some(bit @ 0..=1) => Ok(Some(bit as u8)),
        Some(other) => Err(option_error(
            "read_flag",
            &other.to_string(),
            "expected 0 or 1",
        )),
    }
}

fn take_delimiter(keywords: &PythonOptions<'_>) -> PyResult<Option<u8>> {
    let text = keywords.take_value::<String>("delimiter")?;
    let byte = |text: String| match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(option_error(
            "delimiter",
            &text,
            "expected one ASCII character",
        )),
    };
    text.map(byte).transpose()
}

/// The folder for data that an import sorts outside of memory: `$TMPDIR`, else `/var/tmp`.
fn temporary_folder() -> PathBuf {
    std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from)
}

pub(crate) struct SimulationOptions {
    pub source: SourceOptions,
    pub timing: Timing,
    pub arrival: Arrival,
    /// `None` if no costs were requested.
    costs: Option<Costs>,
}

impl SimulationOptions {
    pub(crate) fn from_options(keywords: &PythonOptions<'_>) -> PyResult<Self> {
        let Recording { format, import } = Recording::from_options(keywords)?;
        let millis = Nanos::from_millis;
        Ok(SimulationOptions {
            source: SourceOptions {
                format,
                import,
                trace: TraceOptions {
                    latency: keywords.take_parsed("latency")?,
                    lanes: keywords.take_parsed("lanes")?,
                    device: keywords.take_parsed("device")?,
                },
                storage: hold_in_memory(),
            },
            timing: Timing {
                warm_up: keywords.take_duration("warm_up")?.unwrap_or(millis(400)),
                measure: keywords.take_duration("measure")?,
                seed: keywords.take_value("seed")?.unwrap_or(1),
            },
            arrival: match keywords.take_value::<bool>("open")? {
                Some(true) => Arrival::OpenLoop,
                _ => Arrival::ClosedLoop,
            },
            costs: take_costs(keywords)?,
        })
    }

    /// The costs: the requested ones, else those of the recordings' run, else assumed ones.
    pub(crate) fn costs(
        &self,
        sizes: &[Bytes],
        traces: &[SimTrace],
    ) -> Result<ChosenCosts, Failure> {
        let bs = self.source.import.bytes;
        if let Some(requested) = &self.costs {
            return Ok(requested.choose(bs, sizes)?);
        }
        let paths: Vec<&Path> = traces.iter().map(|t| Path::new(&t.input.path)).collect();
        let Some(path) = Costs::find_in_run(&paths) else {
            return Ok(Costs::run_or_assumed(None, &[], bs, sizes));
        };
        let disturbed = read_disturbances(&path)?;
        let run = read_costs(path)?;
        Ok(Costs::run_or_assumed(Some(run), &disturbed, bs, sizes))
    }
}

fn take_costs(keywords: &PythonOptions<'_>) -> PyResult<Option<Costs>> {
    let delay = keywords.take_duration("wake_delay")?;
    let path = keywords.take_value::<PathBuf>("cost")?;
    Ok(match (delay, path) {
        (Some(_), Some(path)) => {
            let reason = "expected it without wake_delay, which says all costs";
            return Err(option_error("cost", &path.display().to_string(), reason));
        }
        (None, Some(path)) if path.as_os_str() == Costs::PUBLISHED => Some(Costs::Published),
        (None, Some(path)) => Some(read_costs(path)?),
        (delay, None) => delay.map(Costs::Delay),
    })
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let text = whole_file::read_named_text(path, whole_file::MAX_RESULT);
    text.map_err(|e| Failure::new(Exit::Input, format!("read {}: {e}", path.display())))
}

/// The disturbances of the run to which the file of costs belongs.
fn read_disturbances(costs_path: &Path) -> Result<Vec<Warning>, Failure> {
    let Some(path) = Costs::result_file(costs_path) else {
        return Ok(Vec::new());
    };
    Ok(Costs::disturbances(&path, &read_text(&path)?)?)
}

fn read_costs(path: PathBuf) -> Result<Costs, Failure> {
    let text = read_text(&path)?;
    Ok(Costs::Calibrated { path, text })
}

/// Keeps all of a trace in memory, since this package has no mapped files.
fn hold_in_memory() -> LaneStorage {
    fn refuse_file(_: &Path) -> io::Result<Box<dyn LaneFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    LaneStorage {
        memory: Bytes(u64::MAX),
        folder: temporary_folder(),
        new_file: refuse_file,
    }
}

/// Options by name. A function takes each option out once; options that remain then are unknown.
pub(crate) struct PythonOptions<'py>(Bound<'py, PyDict>);

impl<'py> PythonOptions<'py> {
    /// The options in `options`, without those whose value is None.
    pub(crate) fn new(options: &Bound<'py, PyDict>) -> PyResult<Self> {
        let keywords = options.copy()?;
        for (name, value) in options {
            if value.is_none() {
                keywords.del_item(name)?;
            }
        }
        Ok(PythonOptions(keywords))
    }

    fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.0.get_item(name)?;
        if value.is_some() {
            self.0.del_item(name)?;
        }
        Ok(value)
    }

    pub(crate) fn take_value<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Option<T>> {
        let value = self.take(name)?;
        value
            .map(|value| value.extract::<T>().map_err(Into::into))
            .transpose()
    }

    /// The option as a text in the program's syntax.
    pub(crate) fn take_parsed<T: FromStr<Err: Display>>(&self, name: &str) -> PyResult<Option<T>> {
        let text = self.take_value::<String>(name)?;
        let parsed = text.map(|text| {
            text.parse()
                .map_err(|error| option_error(name, &text, error))
        });
        parsed.transpose()
    }

    /// The option as a duration: a text with a unit, or a number of nanoseconds.
    pub(crate) fn take_duration(&self, name: &str) -> PyResult<Option<Nanos>> {
        let value = self.take(name)?;
        value.map(|value| duration(name, &value)).transpose()
    }

    /// The option as a size: a text such as `4k`, or a number of bytes.
    pub(crate) fn take_size(&self, name: &str) -> PyResult<Option<Bytes>> {
        let size = |value: Bound<'_, PyAny>| {
            let bytes = value.extract::<u64>().map(|bytes| bytes.to_string());
            let text = bytes.or_else(|_| value.extract::<String>())?;
            parse_size(&text).map_err(|error| option_error(name, &text, error))
        };
        self.take(name)?.map(size).transpose()
    }

    pub(crate) fn refuse_remaining(self, function: &str) -> PyResult<()> {
        self.0.keys().iter().next().map_or(Ok(()), |name| {
            let text = format!("{function}() got an unexpected keyword argument '{name}'");
            Err(PyTypeError::new_err(text))
        })
    }
}

/// A duration: a text with a unit, or a number of nanoseconds.
pub(crate) fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    if let Ok(ns) = value.extract::<u64>() {
        return Ok(Nanos(ns));
    }
    let text = value.extract::<String>()?;
    parse_duration(&text).map_err(|error| option_error(name, &text, error))
}

pub(crate) fn option_error(name: &str, found: &str, reason: impl Display) -> PyErr {
    let option = name.replace('_', "-");
    Failure::new(Exit::Usage, format!("use `{found}` for {option}: {reason}")).into()
}

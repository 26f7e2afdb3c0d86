//! Options that several functions share: reading, selection, length and costs. They are given by
//! name, as on the program's command line.

use crate::error::Failed;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_model::{Bytes, Nanos, parse_duration, parse_size};
use q2c_result::{Exit, Warning};
use q2c_run::whole_file;
use q2c_sim::{Arrival, Taking};
use q2c_study::{ChosenCosts, Costs, Holding, LaneFile, SimTrace, SourceOptions, Timing};
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
    pub(crate) fn take(given: &PythonOptions<'_>) -> PyResult<Self> {
        let sort = given.value::<bool>("sort")?.unwrap_or(false);
        let columns = given.value::<BTreeMap<String, String>>("columns")?;
        let columns = columns.unwrap_or_default().into_iter();
        let columns = columns.map(|(field, header)| ColumnMap { field, header });
        Ok(Recording {
            format: given.value("format")?,
            import: ImportOptions {
                unit: given.parsed("unit")?,
                op: given.parsed("op")?,
                bytes: given.size("bs")?,
                offset_unit: given.size("offset_unit")?,
                read_flag: bit(given)?,
                sort: sort.then(temporary),
                columns: columns.collect(),
                delimiter: delimiter(given)?,
                blkparse_format: given.value("blkparse_format")?,
                skip_bad: given.value("skip_bad")?.unwrap_or(false),
                ..ImportOptions::default()
            },
        })
    }
}

fn bit(given: &PythonOptions<'_>) -> PyResult<Option<u8>> {
    match given.value::<i64>("read_flag")? {
        None => Ok(None),
        Some(bit @ 0..=1) => Ok(Some(bit as u8)),
        Some(other) => Err(wrong("read_flag", &other.to_string(), "expected 0 or 1")),
    }
}

fn delimiter(given: &PythonOptions<'_>) -> PyResult<Option<u8>> {
    let text = given.value::<String>("delimiter")?;
    let byte = |text: String| match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(wrong("delimiter", &text, "expected one ASCII character")),
    };
    text.map(byte).transpose()
}

/// The folder for data that an import sorts outside of memory: `$TMPDIR`, else `/var/tmp`.
fn temporary() -> PathBuf {
    std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from)
}

pub(crate) struct Simulated {
    pub source: SourceOptions,
    pub timing: Timing,
    pub arrival: Arrival,
    /// `None` if no costs were requested.
    costs: Option<Costs>,
}

impl Simulated {
    pub(crate) fn take(given: &PythonOptions<'_>) -> PyResult<Self> {
        let Recording { format, import } = Recording::take(given)?;
        let millis = Nanos::from_millis;
        Ok(Simulated {
            source: SourceOptions {
                format,
                import,
                taking: Taking {
                    latency: given.parsed("latency")?,
                    lanes: given.parsed("lanes")?,
                    device: given.parsed("device")?,
                },
                holding: in_memory(),
            },
            timing: Timing {
                warm_up: given.duration("warm_up")?.unwrap_or(millis(400)),
                measure: given.duration("measure")?,
                seed: given.value("seed")?.unwrap_or(1),
            },
            arrival: match given.value::<bool>("open")? {
                Some(true) => Arrival::Recorded,
                _ => Arrival::Think,
            },
            costs: costs(given)?,
        })
    }

    /// The costs: the requested ones, else those of the recordings' run, else assumed ones.
    pub(crate) fn costs(
        &self,
        sizes: &[Bytes],
        traces: &[SimTrace],
    ) -> Result<ChosenCosts, Failed> {
        let bs = self.source.import.bytes;
        if let Some(asked) = &self.costs {
            return Ok(asked.choose(bs, sizes)?);
        }
        let paths: Vec<&Path> = traces.iter().map(|t| Path::new(&t.input.path)).collect();
        let Some(path) = Costs::of_run(&paths) else {
            return Ok(Costs::unasked(None, &[], bs, sizes));
        };
        let disturbed = disturbances(&path)?;
        let run = calibrated(path)?;
        Ok(Costs::unasked(Some(run), &disturbed, bs, sizes))
    }
}

fn costs(given: &PythonOptions<'_>) -> PyResult<Option<Costs>> {
    let delay = given.duration("wake_delay")?;
    let path = given.value::<PathBuf>("cost")?;
    Ok(match (delay, path) {
        (Some(_), Some(path)) => {
            let reason = "expected it without wake_delay, which says all costs";
            return Err(wrong("cost", &path.display().to_string(), reason));
        }
        (None, Some(path)) if path.as_os_str() == Costs::PUBLISHED => Some(Costs::Published),
        (None, Some(path)) => Some(calibrated(path)?),
        (delay, None) => delay.map(Costs::Delay),
    })
}

fn text_of(path: &Path) -> Result<String, Failed> {
    let text = whole_file::read_named_text(path, whole_file::RESULT);
    text.map_err(|e| Failed::new(Exit::Input, format!("read {}: {e}", path.display())))
}

/// The disturbances of the run that the file `costs` belongs to.
fn disturbances(costs: &Path) -> Result<Vec<Warning>, Failed> {
    let Some(path) = Costs::result_beside(costs) else {
        return Ok(Vec::new());
    };
    Ok(Costs::disturbances(&path, &text_of(&path)?)?)
}

fn calibrated(path: PathBuf) -> Result<Costs, Failed> {
    let text = text_of(&path)?;
    Ok(Costs::Calibrated { path, text })
}

/// Keeps all of a trace in memory, since this package has no mapped files.
fn in_memory() -> Holding {
    fn none(_: &Path) -> io::Result<Box<dyn LaneFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    Holding {
        memory: Bytes(u64::MAX),
        folder: temporary(),
        new_file: none,
    }
}

/// Options by name. Each is taken once; whatever is left at the end is unknown.
pub(crate) struct PythonOptions<'py>(Bound<'py, PyDict>);

impl<'py> PythonOptions<'py> {
    /// The options in `options`, without those whose value is None.
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

    /// The option as a text in the program's syntax.
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

//! Sleep rules on a trace, beside classic polling and the oracle.

use crate::error::{Failed, Fails};
use crate::given::PythonOptions;
use crate::interrupt::interruptible;
use crate::options::Simulated;
use crate::result::Made;
use crate::rule::rule;
use crate::source::Source;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_result::Exit;
use q2c_sim::{Configuration, start_threads};
use q2c_study::{SimTrace, Simulation, read, read_input, read_records};
use q2c_trace::import::{Input, by_name};
use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Simulates rules on a source, which is called `name` where it has no path.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    rules: Vec<Bound<'_, PyAny>>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let given = PythonOptions::new(options)?;
    let simulated = Simulated::take(&given)?;
    given.end("simulate")?;
    let policies: Vec<_> = rules.iter().map(rule).collect::<PyResult<_>>()?;
    let source = Source::from_object(source)?;
    let result = interruptible(py, |stop| {
        start_threads().or_exit(Exit::Environment)?;
        let trace = taken(source, name, &simulated, stop)?;
        let of_trace = std::slice::from_ref(&trace);
        let costs = simulated.costs(&trace.input.sizes, of_trace)?;
        let simulation = Simulation {
            input: &trace.input,
            policies: &policies,
            on: Configuration {
                lanes: &trace.lanes,
                cost: &costs.cost,
                drive: simulated.timing.drive_for(trace.input.span_ns),
                arrival: simulated.arrival,
            },
            cost_in_words: costs.in_words,
            doubt: costs.doubt,
        };
        Ok(simulation.run(stop)?)
    })?;
    Ok(Made::new(result))
}

pub(crate) fn taken(
    source: Source,
    name: &str,
    simulated: &Simulated,
    stop: &AtomicBool,
) -> Result<SimTrace, Failed> {
    let (options, name) = (&simulated.source, Path::new(name));
    let read = match source {
        Source::Path(path) => read(&path, options, stop),
        Source::Table(table) => read_records(name, options, stop, |sink| table.read(name, sink)),
        Source::Latencies(latencies) => read_input(name, listed(&latencies), options, stop),
    };
    Ok(read?)
}

/// Latencies as the file that they would stand in, one a line.
fn listed(latencies: &[f64]) -> Input {
    const FORMAT: &str = "latency-list";
    let text = latencies.iter().fold(String::new(), |mut text, latency| {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{latency}");
        text
    });
    Input::Foreign {
        format: by_name(FORMAT).expect("the importer of latencies has this name"),
        source: Box::new(Cursor::new(text)),
        recognised: None,
    }
}

//! Simulates sleep rules on a trace, beside classic polling and the oracle. Sweeps whole families
//! of rules over traces, also in parts that are joined later, and names the best rules.

use crate::error::{Failure, OrFailure, interruptible};
use crate::options::{PythonOptions, SimulationOptions, option_error};
use crate::result::NativeResult;
use crate::rule::{parse_family, parse_rule};
use crate::trace::Source;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use q2c_model::{Bytes, Fault, Nanos};
use q2c_policy::{Family, PolicySpec};
use q2c_result::Exit;
use q2c_result::sweep::SweepResult;
use q2c_sim::{
    Arrival, Configuration, Drive, LaneRecording, Limits, Objective, ResumableSweep as State,
    start_threads,
};
use q2c_study::{
    CellProgress, SimTrace, Simulation, Study, SweepPolicies, choose_over, read, read_input,
    read_records, volumes_result,
};
use q2c_trace::import::{Input, by_name};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type PyObjects<'py> = Vec<Bound<'py, PyAny>>;

struct SweepRequest {
    families: Vec<Family>,
    objective: Objective,
    limits: Limits,
    follow: Option<PolicySpec>,
    allows_long: bool,
    simulated: SimulationOptions,
}

/// Sweeps families of rules over sources. A source without a path is called `name`.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    sources: PyObjects<'_>,
    policies: PyObjects<'_>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<NativeResult> {
    let keywords = PythonOptions::new(options)?;
    let follow = keywords.take_value::<Bound<'_, PyAny>>("follow")?;
    let request = SweepRequest {
        families: policies.iter().map(parse_family).collect::<PyResult<_>>()?,
        objective: take_objective(&keywords)?,
        limits: take_limits(&keywords)?,
        follow: follow.as_ref().map(parse_rule).transpose()?,
        allows_long: keywords.take_value("long")?.unwrap_or(false),
        simulated: SimulationOptions::from_options(&keywords)?,
    };
    keywords.refuse_remaining("sweep")?;
    let sources = sources.iter().map(Source::from_object);
    let sources: Vec<Source> = sources.collect::<PyResult<_>>()?;
    let result = interruptible(py, |stop| {
        start_threads().or_exit(Exit::Environment)?;
        let start = Instant::now();
        let read = |source| read_trace(source, name, &request.simulated, stop);
        let traces: Vec<SimTrace> = sources.into_iter().map(read).collect::<Result<_, _>>()?;
        run_sweep(&request, &traces, start.elapsed().as_secs_f64(), stop)
    })?;
    Ok(NativeResult::new(result))
}

fn run_sweep(
    request: &SweepRequest,
    traces: &[SimTrace],
    reading_s: f64,
    stop: &AtomicBool,
) -> Result<SweepResult, Failure> {
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes = Vec::from_iter(sizes);
    let costs = request.simulated.costs(&sizes, traces)?;
    let mut study = Study {
        traces,
        reading_s,
        policies: &[],
        cost: &costs.cost,
        cost_in_words: costs.in_words,
        timing: request.simulated.timing,
        arrival: request.simulated.arrival,
        objective: request.objective,
        limits: request.limits,
        follow: request.follow.clone(),
    };
    let swept = SweepPolicies {
        families: &request.families,
        own: &[],
        p50: Nanos(traces[0].input.latency_ns[2] as u64),
    };
    swept.check_extent(&study, request.allows_long)?;
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let mut result = study.run(&mut CellProgress::new(stop, &mut |_done| {}))?;
    result.warnings.splice(0..0, costs.doubt);
    Ok(result)
}

fn take_objective(keywords: &PythonOptions<'_>) -> PyResult<Objective> {
    let objective = keywords.take_parsed("objective")?;
    Ok(objective.unwrap_or(Objective::KiopsPerCore))
}

fn take_limits(keywords: &PythonOptions<'_>) -> PyResult<Limits> {
    let max_cpu = keywords.take_value::<f64>("max_cpu")?;
    if let Some(percent) = max_cpu.filter(|percent| !(*percent > 0.0 && *percent <= 1e6)) {
        let reason = "expected a percentage above 0";
        return Err(option_error("max_cpu", &percent.to_string(), reason));
    }
    Ok(Limits {
        min_iops: keywords.take_parsed("min_iops")?,
        max_p99_ns: keywords.take_duration("max_p99")?.map(|p99| p99.0 as f64),
        max_cpu_pct: max_cpu,
    })
}

/// Configurations over the I/Os of one or more volumes; the Python class `q2c.SweepState` wraps it.
#[pyclass(module = "q2c._native")]
pub(crate) struct SweepState(State);

#[pymethods]
impl SweepState {
    #[new]
    fn new(volume: &str, policies: PyObjects<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let keywords = PythonOptions::new(options)?;
        let simulated = SimulationOptions::from_options(&keywords)?;
        keywords.refuse_remaining("SweepState")?;
        let families: Vec<Family> = policies.iter().map(parse_family).collect::<PyResult<_>>()?;
        let spelled_out: Result<Vec<_>, _> = families.iter().map(Family::spell_out).collect();
        let policies: Vec<PolicySpec> = spelled_out.or_exit(Exit::Usage)?.concat();
        if policies.is_empty() {
            let message = "sweep in parts: expected policies, found none; the standard grid depends on all I/Os";
            return Err(Failure::new(Exit::Usage, message).into());
        }
        let sizes: Vec<_> = simulated.source.import.bytes.into_iter().collect();
        let cost = simulated.costs(&sizes, &[])?.cost;
        let drive = Drive {
            warm_up: simulated.timing.warm_up,
            measure: simulated.timing.measure.unwrap_or(Drive::ONE_PASS),
            seed: simulated.timing.seed,
        };
        let state = State::new(volume, &policies, &cost, drive);
        Ok(SweepState(state.map_err(Failure::from)?))
    }

    /// Adds the next I/Os. A source without a path is called `name`.
    fn update(
        &mut self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        name: &str,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let keywords = PythonOptions::new(options)?;
        let simulated = SimulationOptions::from_options(&keywords)?;
        keywords.refuse_remaining("update")?;
        if simulated.arrival != Arrival::ClosedLoop {
            let reason = "expected a closed loop, which is all that goes in parts";
            return Err(option_error("open", "true", reason));
        }
        let source = Source::from_object(source)?;
        let state = &mut self.0;
        interruptible(py, |stop| {
            start_threads().or_exit(Exit::Environment)?;
            let trace = read_trace(source, name, &simulated, stop)?;
            Ok(state.update(only_lane(&trace.lanes, name)?)?)
        })
    }

    /// Joins this state with that of other volumes.
    fn beside(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        self.join(py, other, State::with_volumes)
    }

    /// Joins this state with that of other configurations over the same I/Os.
    fn with_configurations(&self, py: Python<'_>, other: &Self) -> Result<Self, Failure> {
        self.join(py, other, State::with_configurations)
    }

    fn finish(&self, py: Python<'_>) -> NativeResult {
        NativeResult::new(py.detach(|| volumes_result(&self.0)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes())?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> Result<Self, Failure> {
        Ok(SweepState(py.detach(|| State::from_bytes(bytes))?))
    }

    /// True if every configuration has simulated the whole measured time.
    #[getter]
    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Number of I/Os of all volumes.
    #[getter]
    fn ios(&self) -> u64 {
        self.0.ios()
    }

    /// The names of the volumes.
    #[getter]
    fn volumes(&self) -> Vec<String> {
        self.0.volumes().map(str::to_owned).collect()
    }

    /// The configurations.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.0.policies().iter().map(ToString::to_string).collect()
    }
}

impl SweepState {
    fn join(
        &self,
        py: Python<'_>,
        other: &Self,
        join: fn(State, State) -> Result<State, Fault>,
    ) -> Result<Self, Failure> {
        Ok(SweepState(
            py.detach(|| join(self.0.clone(), other.0.clone()))?,
        ))
    }
}

/// Chooses the best configuration over the results of several volumes.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    states: Vec<PyRef<'_, SweepState>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<NativeResult> {
    let keywords = PythonOptions::new(options)?;
    let (objective, limits) = (take_objective(&keywords)?, take_limits(&keywords)?);
    keywords.refuse_remaining("choose")?;
    let states: Vec<State> = states.iter().map(|state| state.0.clone()).collect();
    let chosen = py.detach(|| choose_over(&states, objective, &limits));
    Ok(NativeResult::new(chosen.map_err(Failure::from)?))
}

fn only_lane<'a>(lanes: &'a [LaneRecording], name: &str) -> Result<&'a LaneRecording, Failure> {
    if let [lane] = lanes {
        return Ok(lane);
    }
    let message = format!(
        "sweep {name} in parts: expected I/Os of one lane of depth 1, found {} lanes; sweep the whole, or each lane as a volume of its own",
        lanes.len()
    );
    Err(Failure::new(Exit::Input, message))
}

/// Simulates rules on a source. A source without a path is called `name`.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    rules: PyObjects<'_>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<NativeResult> {
    let keywords = PythonOptions::new(options)?;
    let simulated = SimulationOptions::from_options(&keywords)?;
    keywords.refuse_remaining("simulate")?;
    let policies: Vec<_> = rules.iter().map(parse_rule).collect::<PyResult<_>>()?;
    let source = Source::from_object(source)?;
    let result = interruptible(py, |stop| {
        start_threads().or_exit(Exit::Environment)?;
        let trace = read_trace(source, name, &simulated, stop)?;
        let costs = simulated.costs(&trace.input.sizes, std::slice::from_ref(&trace))?;
        let simulation = Simulation {
            input: &trace.input,
            policies: &policies,
            configuration: Configuration {
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
    Ok(NativeResult::new(result))
}

fn read_trace(
    source: Source,
    name: &str,
    simulated: &SimulationOptions,
    stop: &AtomicBool,
) -> Result<SimTrace, Failure> {
    let (options, name) = (&simulated.source, Path::new(name));
    Ok(match source {
        Source::Path(path) => read(&path, options, stop)?,
        Source::Table(table) => read_records(name, options, stop, |sink| table.read(name, sink))?,
        Source::Latencies(latencies) => read_input(name, latency_list(&latencies), options, stop)?,
    })
}

/// Latencies in the form of a file, one per line.
fn latency_list(latencies: &[f64]) -> Input {
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

//! Sweeps in parts, which are put together.

use crate::error::{Failed, Fails};
use crate::given::{PythonOptions, wrong};
use crate::interrupt::interruptible;
use crate::options::Simulated;
use crate::result::Made;
use crate::rule::family;
use crate::simulation::taken;
use crate::source::Source;
use crate::sweep::{limits, objective};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use q2c_model::Fault;
use q2c_policy::{Family, PolicySpec};
use q2c_result::Exit;
use q2c_sim::{Arrival, Drive, LaneRecording, ResumableSweep as State, start_threads};
use q2c_study::{choose_over, volumes_result};

/// Configurations over the I/Os of one volume or many; `q2c.SweepState` is around it.
#[pyclass(module = "q2c._native")]
pub(crate) struct SweepState(State);

#[pymethods]
impl SweepState {
    #[new]
    fn new(
        volume: &str,
        policies: Vec<Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let given = PythonOptions::new(options)?;
        let simulated = Simulated::take(&given)?;
        given.end("SweepState")?;
        let families: Vec<Family> = policies.iter().map(family).collect::<PyResult<_>>()?;
        let spelled_out: Result<Vec<_>, _> = families.iter().map(Family::spell_out).collect();
        let policies: Vec<PolicySpec> = spelled_out.or_exit(Exit::Usage)?.concat();
        if policies.is_empty() {
            let message = "sweep in parts: expected policies, found none; the standard grid depends on all I/Os";
            return Err(Failed::new(Exit::Usage, message).into());
        }
        let sizes: Vec<_> = simulated.source.import.bytes.into_iter().collect();
        let cost = simulated.costs(&sizes, &[])?.cost;
        let drive = Drive {
            warm_up: simulated.timing.warm_up,
            measure: simulated.timing.measure.unwrap_or(Drive::ONE_PASS),
            seed: simulated.timing.seed,
        };
        let state = State::new(volume, &policies, &cost, drive);
        Ok(SweepState(state.map_err(Failed::from)?))
    }

    /// Takes the next I/Os. A source without a path is called `name`.
    fn update(
        &mut self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        name: &str,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let given = PythonOptions::new(options)?;
        let simulated = Simulated::take(&given)?;
        given.end("update")?;
        if simulated.arrival != Arrival::Think {
            let reason = "expected a closed loop, which is all that goes in parts";
            return Err(wrong("open", "true", reason));
        }
        let source = Source::from_object(source)?;
        let state = &mut self.0;
        interruptible(py, |stop| {
            start_threads().or_exit(Exit::Environment)?;
            let trace = taken(source, name, &simulated, stop)?;
            Ok(state.update(only_lane(&trace.lanes, name)?)?)
        })
    }

    /// This state and that of other volumes.
    fn beside(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.join(py, other, State::with_volumes)
    }

    /// This state and that of other configurations over the same I/Os.
    fn with_configurations(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.join(py, other, State::with_configurations)
    }

    fn finish(&self, py: Python<'_>) -> Made {
        Made::new(py.detach(|| volumes_result(&self.0)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(Failed::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let state = py.detach(|| State::from_bytes(bytes));
        Ok(SweepState(state.map_err(Failed::from)?))
    }

    /// Whether every configuration has simulated the time that counts.
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
    ) -> PyResult<Self> {
        let both = py.detach(|| join(self.0.clone(), other.0.clone()));
        Ok(SweepState(both.map_err(Failed::from)?))
    }
}

/// Chooses over the results of several volumes.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    states: Vec<PyRef<'_, SweepState>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let given = PythonOptions::new(options)?;
    let (objective, limits) = (objective(&given)?, limits(&given)?);
    given.end("choose")?;
    let states: Vec<State> = states.iter().map(|state| state.0.clone()).collect();
    let chosen = py.detach(|| choose_over(&states, objective, &limits));
    Ok(Made::new(chosen.map_err(Failed::from)?))
}

fn only_lane<'a>(lanes: &'a [LaneRecording], name: &str) -> Result<&'a LaneRecording, Failed> {
    let [lane] = lanes else {
        let message = format!(
            "sweep {name} in parts: expected I/Os of one lane of depth 1, found {} lanes; sweep the whole, or each lane as a volume of its own",
            lanes.len()
        );
        return Err(Failed::new(Exit::Input, message));
    };
    Ok(lane)
}

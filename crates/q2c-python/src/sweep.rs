//! Whole families of sleep rules over traces, and the best of them.

use crate::error::{Failed, Fails};
use crate::given::{PythonOptions, wrong};
use crate::interrupt::interruptible;
use crate::options::Simulated;
use crate::result::Made;
use crate::rule::{family, rule};
use crate::simulation::taken;
use crate::source::Source;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use q2c_model::{Bytes, Nanos};
use q2c_policy::{Family, PolicySpec};
use q2c_result::Exit;
use q2c_result::sweep::SweepResult;
use q2c_sim::{Limits, Objective, start_threads};
use q2c_study::{SimTrace, Study, Swept};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

struct SweepRequest {
    families: Vec<Family>,
    objective: Objective,
    limits: Limits,
    follow: Option<PolicySpec>,
    long: bool,
    simulated: Simulated,
}

/// Sweeps families of rules over sources. Those without a path are called `name`.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    sources: Vec<Bound<'_, PyAny>>,
    policies: Vec<Bound<'_, PyAny>>,
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let given = PythonOptions::new(options)?;
    let follow = given.value::<Bound<'_, PyAny>>("follow")?;
    let asked = SweepRequest {
        families: policies.iter().map(family).collect::<PyResult<_>>()?,
        objective: objective(&given)?,
        limits: limits(&given)?,
        follow: follow.as_ref().map(rule).transpose()?,
        long: given.value("long")?.unwrap_or(false),
        simulated: Simulated::take(&given)?,
    };
    given.end("sweep")?;
    let sources = sources.iter().map(Source::from_object);
    let sources: Vec<Source> = sources.collect::<PyResult<_>>()?;
    let result = interruptible(py, |stop| {
        start_threads().or_exit(Exit::Environment)?;
        let begun = Instant::now();
        let read = |source| taken(source, name, &asked.simulated, stop);
        let traces: Vec<SimTrace> = sources.into_iter().map(read).collect::<Result<_, _>>()?;
        swept(&asked, &traces, begun.elapsed().as_secs_f64(), stop)
    })?;
    Ok(Made::new(result))
}

fn swept(
    asked: &SweepRequest,
    traces: &[SimTrace],
    reading_s: f64,
    stop: &AtomicBool,
) -> Result<SweepResult, Failed> {
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let costs = asked.simulated.costs(&sizes, traces)?;
    let mut study = Study {
        traces,
        reading_s,
        policies: &[],
        cost: &costs.cost,
        cost_in_words: costs.in_words,
        timing: asked.simulated.timing,
        arrival: asked.simulated.arrival,
        objective: asked.objective,
        limits: asked.limits,
        follow: asked.follow.clone(),
    };
    let swept = Swept {
        families: &asked.families,
        own: &[],
        p50: Nanos(traces[0].input.latency_ns[2] as u64),
    };
    swept.worth_it(&study, asked.long)?;
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let mut result = study.run(stop, &mut |_| {})?;
    result.warnings.splice(0..0, costs.doubt);
    Ok(result)
}

pub(crate) fn objective(given: &PythonOptions<'_>) -> PyResult<Objective> {
    Ok(given
        .parsed("objective")?
        .unwrap_or(Objective::KiopsPerCore))
}

pub(crate) fn limits(given: &PythonOptions<'_>) -> PyResult<Limits> {
    let max_cpu = given.value::<f64>("max_cpu")?;
    if let Some(percent) = max_cpu.filter(|percent| !(*percent > 0.0 && *percent <= 1e6)) {
        let reason = "expected a percentage above 0";
        return Err(wrong("max_cpu", &percent.to_string(), reason));
    }
    Ok(Limits {
        min_iops: given.parsed("min_iops")?,
        max_p99_ns: given.duration("max_p99")?.map(|p99| p99.0 as f64),
        max_cpu_pct: max_cpu,
    })
}

//! The result of a prediction, with its warnings.

use crate::evidence::CurveEvidence;
use crate::machine::{Lock, MachineModel};
use crate::parameters;
use crate::predict::{
    CurvePrediction, PredictionRange, REGULAR_CV, RESAMPLES, from_evidence, from_machine,
};
use crate::run::{BenchCurve, CurveSelection};
use q2c_model::Fault;
use q2c_model::stats::{ResampledRange, Rng};
use q2c_result::Warning;
use q2c_result::bench::BenchResult;
use q2c_result::scale::{
    Answer, CurvePoint, MeasuredCurve, Parameter, Parameters, Resource, SCHEMA, ScaleResult,
};

/// The model was tested up to this many times the measured jobs.
const MAX_TESTED_FACTOR: u32 = 8;

/// A request for a prediction.
#[derive(Clone, Debug)]
pub struct ScaleRequest<'a> {
    /// A run of `q2c bench`, with its path.
    pub run: Option<(&'a BenchResult, &'a str)>,
    /// Parameters from a file, with its path.
    pub parameters: Option<(Parameters, &'a str)>,
    /// The curve of the run to use.
    pub selection: CurveSelection,
    /// The cores and jobs up to which to predict.
    pub range: PredictionRange,
}

/// Predicts throughput, from the parameters if there are any, else from the run.
///
/// # Errors
/// Fails if `selection` does not select exactly one curve of the run. Without parameters, also
/// fails if there is no run, or if the run does not suffice.
pub fn predict(request: &ScaleRequest<'_>) -> Result<ScaleResult, Fault> {
    let curve_of = |(result, path)| BenchCurve::from_result(result, &request.selection, path);
    let curve = request.run.map(curve_of).transpose()?;
    let range = request.range;
    let (prediction, evidence, parameters) = match (&request.parameters, request.run, &curve) {
        (Some((parameters, _)), ..) => {
            let prediction = from_parameters(parameters, curve.as_ref(), range);
            (prediction, None, parameters.clone())
        }
        (None, Some((result, path)), Some(curve)) => {
            let evidence = curve.evidence(result, path)?;
            let prediction = from_evidence(&evidence, range);
            let parameters = parameters_of(&prediction);
            (prediction, Some(evidence), parameters)
        }
        _ => {
            let text = "expected a run or a file of parameters, found neither";
            return Err(Fault::input(text));
        }
    };
    let measured = request.run.zip(curve.as_ref());
    let measured = measured.map(|((result, path), curve)| {
        let first = &curve.cells[0].point;
        let last = evidence
            .as_ref()
            .and_then(|evidence| evidence.points.last());
        MeasuredCurve {
            path: path.to_owned(),
            engine: first.engine.clone(),
            method: first.method.clone(),
            depth: first.depth,
            bs: first.bs,
            rw: first.rw.clone(),
            physical_cores: curve.physical_cores,
            fitted_up_to: last.map_or(0, |point| point.jobs),
            machine: result.machine.clone(),
            target: result.target.clone(),
        }
    });
    let file = request.parameters.as_ref();
    Ok(ScaleResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: 0,
        parameters_file: file.map(|(_, path)| (*path).to_owned()),
        cores: range.cores,
        jobs: range.jobs,
        parameters,
        curve: points(&prediction, curve.as_ref()),
        ends_at: prediction.ends_at,
        ends_between: prediction.ends_between,
        resource: prediction.resource,
        peak: prediction.peak,
        answer: prediction.answer,
        what_if: prediction.what_if.clone(),
        leave_out_error_pct: prediction.leave_out_error_pct,
        resamples: prediction.drawn.len() as u32,
        seed: range.seed,
        warnings: warnings(&prediction, evidence.as_ref(), measured.as_ref(), range),
        run: measured,
    })
}

fn from_parameters(
    parameters: &Parameters,
    curve: Option<&BenchCurve<'_>>,
    range: PredictionRange,
) -> CurvePrediction {
    let machine = parameters::machine(parameters, range.cores);
    let mut rng = Rng::new(range.seed);
    let uncertain = parameters::is_uncertain(parameters);
    let draws = if uncertain { RESAMPLES } else { 0 };
    let draw = |_| parameters::draw_machine(parameters, range.cores, &mut rng);
    let drawn = (0..draws).map(draw).collect();
    let error = curve.map(|curve| mean_error_pct(&machine, curve));
    let mut prediction = from_machine(&machine, drawn, error.unwrap_or(0.0), range);
    prediction.leave_out_error_pct = error;
    prediction
}

fn mean_error_pct(machine: &MachineModel, curve: &BenchCurve<'_>) -> f64 {
    let errors = curve.cells.iter().map(|cell| {
        let predicted = machine.iops(cell.point.jobs.max(1));
        (predicted / cell.iops.median - 1.0).abs()
    });
    100.0 * errors.sum::<f64>() / curve.cells.len() as f64
}

/// The fitted machine's parameters, each with the 2.5th and 97.5th percentile over the resamples.
fn parameters_of(prediction: &CurvePrediction) -> Parameters {
    let machine = &prediction.machine;
    let value = |value: f64, figure: &dyn Fn(&MachineModel) -> Option<f64>| {
        let drawn: Vec<f64> = prediction.drawn.iter().filter_map(figure).collect();
        let range = ResampledRange::from_draws(&drawn);
        range.map_or(Parameter::exact(value), |range| Parameter {
            value,
            low: range.low.min(value),
            high: range.high.max(value),
        })
    };
    let lock = machine.lock;
    let lock_value = |get: fn(&Lock) -> f64| {
        let from_machine = |m: &MachineModel| m.lock.as_ref().map(get);
        lock.map_or(Parameter::default(), |lock| {
            value(get(&lock), &from_machine)
        })
    };
    let parallel = |parallel| value(parallel, &|m| m.device.parallel);
    Parameters {
        depth: machine.depth,
        cpu_ns: value(machine.cpu_ns, &|m| Some(m.cpu_ns)),
        rest_ns: value(machine.rest_ns, &|m| Some(m.rest_ns)),
        line_ns: value(machine.line_ns, &|m| Some(m.line_ns)),
        lock_ns: lock_value(|lock| lock.hold_ns),
        lock_growth: lock_value(|lock| lock.growth),
        lock_cv: lock.map_or(1.0, |lock| lock.cv),
        queues: machine.tags.map(|tags| tags.queues),
        tags: machine.tags.map(|tags| tags.per_queue),
        device_ns: value(machine.device.service_ns, &|m| Some(m.device.service_ns)),
        device_parallel: machine.device.parallel.map(parallel),
        device_cv: machine.device.cv,
        shared_stage: prediction.shared_stage.clone(),
    }
}

fn points(prediction: &CurvePrediction, curve: Option<&BenchCurve<'_>>) -> Vec<CurvePoint> {
    let cells = curve.map_or(&[][..], |curve| &curve.cells);
    let mut points: Vec<CurvePoint> = prediction.curve.clone();
    points.retain(|point| cells.iter().all(|cell| cell.point.jobs != point.jobs));
    points.extend(cells.iter().map(|cell| CurvePoint {
        jobs: cell.point.jobs,
        iops: cell.iops.median,
        low: cell.iops.min,
        high: cell.iops.max,
        measured: true,
    }));
    points.sort_by_key(|point| point.jobs);
    points
}

fn warnings(
    prediction: &CurvePrediction,
    evidence: Option<&CurveEvidence>,
    run: Option<&MeasuredCurve>,
    range: PredictionRange,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let Some((evidence, run)) = evidence.zip(run) else {
        return warnings;
    };
    let up_to = run.fitted_up_to;
    let jobs = range.jobs;
    if jobs > up_to.saturating_mul(MAX_TESTED_FACTOR) {
        warnings.push(Warning::new(
            "far-beyond",
            format!("the curve ends at {jobs} jobs, and {up_to} were measured"),
            "the model was tested up to eight times the measured jobs",
            "measure more jobs",
        ));
    }
    let lock_cv = prediction.machine.lock.map_or(1.0, |lock| lock.cv);
    if prediction.resource == Some(Resource::Lock)
        && prediction.answer == Answer::Uncertain
        && lock_cv.min(evidence.device_cv()) < REGULAR_CV
    {
        warnings.push(Warning::new(
            "regular-arrivals",
            format!(
                "the lock's times vary by {:.0} % and the device's by {:.0} %",
                100.0 * lock_cv,
                100.0 * evidence.device_cv()
            ),
            "jobs fall in step and meet at the lock less than the model says, so it would put the end too late",
            "measure more jobs, up to where throughput bends",
        ));
    }
    if run.machine.threads_per_core.is_none() {
        warnings.push(Warning::new(
            "threads-per-core-unknown",
            "the run does not tell how many hardware threads a core has".to_owned(),
            "each CPU was taken for a core; siblings slow each other down, which looks like a shared resource",
            "run q2c bench where the topology can be read",
        ));
    }
    warnings
}

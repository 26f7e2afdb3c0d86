//! The prediction: the curve beyond the measured points, where and why it ends, and how surely.

use crate::evidence::CurveEvidence;
use crate::fit::{Structure, fit};
use crate::machine::MachineModel;
use q2c_model::stats::scaling::{KNEE_SHARE, ScalingPoint, ScalingShape};
use q2c_model::stats::{ResampledRange, Rng};
use q2c_result::scale::{Answer, CurvePoint, Resource, WhatIf};

/// Number of resampled predictions.
pub(crate) const RESAMPLES: u32 = 200;
/// Fewest measured points for a fit.
pub(crate) const MIN_POINTS: usize = 4;
/// Steps between the numbers of jobs on the curve are this part of the number, at least 1.
const STEPS_PER_COUNT: u32 = 32;
/// If the end's upper bound is more than this many times the lower one, the end is uncertain.
const MAX_RATIO: f64 = 1.6;
/// Times are regular if their standard deviation is less than this share of their mean.
pub(crate) const REGULAR_CV: f64 = 0.4;
/// With a regular lock, the true end was at this share of the predicted end or later
/// (docs/journal/2026-11-24-scale-predict.md).
const MIN_END_SHARE: f64 = 0.65;
/// Relative error of the solved network on simulated machines, besides noise (same entry).
const MODEL_ERROR: f64 = 0.08;
/// More jobs must pay over a step of this part of their number: an eighth.
const PAYOFF_STEPS: f64 = 8.0;
/// The what-if gains are computed at this many times the jobs of the end.
const WHAT_IF_FACTOR: f64 = 1.3;

/// A predicted curve, with its end and the certainty.
#[derive(Clone, Debug)]
pub struct CurvePrediction {
    /// The machine on which the prediction is based.
    pub machine: MachineModel,
    /// Machines that repeated measurements might have given.
    pub drawn: Vec<MachineModel>,
    /// The predicted curve, including the numbers of jobs that were measured.
    pub curve: Vec<CurvePoint>,
    /// The last number of jobs at which more jobs still pay; `None` if scaling does not end.
    pub ends_at: Option<u32>,
    /// The interval of that number; its upper bound is `None` if it is beyond the curve.
    pub ends_between: Option<(u32, Option<u32>)>,
    /// The resource that ends scaling.
    pub resource: Option<Resource>,
    /// The peak, if the curve surely falls after it.
    pub peak: Option<u32>,
    /// The kind of answer for which the evidence suffices.
    pub answer: Answer,
    /// For each resource, the gain after the end if it had no limit.
    pub what_if: Vec<WhatIf>,
    /// Mean error of points predicted from the other points, percent.
    pub leave_out_error_pct: Option<f64>,
    /// The block-layer stage in which the lock or cache line shows.
    pub shared_stage: Option<String>,
}

/// The cores and jobs up to which to predict, and the seed.
#[derive(Clone, Copy, Debug)]
pub struct PredictionRange {
    /// Number of cores; further jobs share them.
    pub cores: u32,
    /// Largest number of jobs on the curve.
    pub jobs: u32,
    /// Seed of the resampling.
    pub seed: u64,
}

/// Predicts from measured points; there must be at least [`MIN_POINTS`].
pub fn from_evidence(evidence: &CurveEvidence, range: PredictionRange) -> CurvePrediction {
    let structure = Structure::from_evidence(evidence);
    let with_cores = |mut machine: MachineModel| {
        machine.cores = range.cores;
        machine
    };
    let rows = evidence.rows(structure.stage());
    let fitted = fit(evidence, &rows, &structure, None);
    // If nothing shows, the curve's lower bound is that of a limit which noise could hide.
    let bounded = evidence.tags.is_some() && !evidence.tags_suffice(range.jobs);
    let possible = if structure.has_limit() || bounded {
        structure.clone()
    } else {
        Structure::hidden(evidence)
    };
    let base = fit(evidence, &evidence.rows(possible.stage()), &possible, None);
    let mut rng = Rng::new(range.seed);
    let draw = |_| {
        let rows = evidence.resample(possible.stage(), base.noise, &mut rng);
        with_cores(fit(evidence, &rows, &possible, Some(&base.machine)).machine)
    };
    let drawn: Vec<MachineModel> = (0..RESAMPLES).map(draw).collect();
    let error = left_out_error(evidence, &structure, &fitted.machine);
    let machine = with_cores(fitted.machine);
    let mut prediction = from_machine(&machine, drawn, error.unwrap_or(0.0), range);
    prediction.leave_out_error_pct = error;
    prediction.shared_stage = structure.stage().map(str::to_owned);
    match prediction.answer {
        Answer::Beyond if !structure.has_limit() => prediction.answer = Answer::NothingSeen,
        Answer::Ends if is_wide(&prediction) || is_regular(evidence, &prediction) => {
            if is_regular(evidence, &prediction) {
                let lower = |(low, high)| ((f64::from(low) * MIN_END_SHARE) as u32, high);
                prediction.ends_between = prediction.ends_between.map(lower);
            }
            prediction.answer = Answer::Uncertain;
            prediction.ends_at = None;
            prediction.peak = None;
        }
        _ => {}
    }
    prediction
}

fn is_wide(prediction: &CurvePrediction) -> bool {
    prediction.ends_between.is_some_and(|(low, high)| {
        high.is_none_or(|high| f64::from(high) > MAX_RATIO * f64::from(low))
    })
}

/// True if the times of a lock, or of the device between two visits, hardly vary. Jobs then fall
/// into step and meet less than in the model, which assumes random arrivals and puts the end too
/// late.
fn is_regular(evidence: &CurveEvidence, prediction: &CurvePrediction) -> bool {
    let lock = prediction.machine.lock.map_or(1.0, |lock| lock.cv);
    prediction.resource == Some(Resource::Lock) && lock.min(evidence.device_cv()) < REGULAR_CV
}

/// Predicts for a known machine. `drawn` are its possible variants; `error_pct` widens both bounds.
pub fn from_machine(
    machine: &MachineModel,
    drawn: Vec<MachineModel>,
    error_pct: f64,
    range: PredictionRange,
) -> CurvePrediction {
    let jobs = job_counts(range.jobs);
    let throughputs =
        |machine: &MachineModel| jobs.iter().map(|n| machine.iops(*n)).collect::<Vec<f64>>();
    let predicted = throughputs(machine);
    let resampled: Vec<Vec<f64>> = drawn.iter().map(throughputs).collect();
    let ends_at = last_paying(&jobs, &predicted);
    let points = jobs.iter().zip(&predicted);
    let points: Vec<ScalingPoint> = points.map(|(n, x)| ScalingPoint::new(*n, &[*x])).collect();
    let shape = ScalingShape::from_points(&points).ok();
    let what_if = ends_at.map_or_else(Vec::new, |end| what_if(machine, end, range.jobs));
    let resource = what_if.first().map(|first| first.resource);
    CurvePrediction {
        ends_between: ends_at.map(|end| ends_between(end, &jobs, &resampled)),
        curve: curve(&jobs, &predicted, &resampled, error_pct / 100.0),
        ends_at,
        resource,
        peak: shape.and_then(|shape| shape.collapse.map(|_| shape.peak)),
        answer: ends_at.map_or(Answer::Beyond, |_| Answer::Ends),
        what_if,
        leave_out_error_pct: None,
        shared_stage: None,
        machine: machine.clone(),
        drawn,
    }
}

fn job_counts(max: u32) -> Vec<u32> {
    let next = |n: &u32| Some(n + (n / STEPS_PER_COUNT).max(1)).filter(|n| *n < max);
    let mut counts: Vec<u32> = std::iter::successors(Some(1), next).collect();
    counts.extend((max > 1).then_some(max));
    counts
}

/// The last number of jobs at which more pay. They stop paying if an eighth more add less than
/// [`KNEE_SHARE`] of one job's throughput per job. Single jobs pay unevenly, because they are dealt
/// to queues in turn, so they do not decide.
fn last_paying(jobs: &[u32], iops: &[f64]) -> Option<u32> {
    let one_job = iops[0] / f64::from(jobs[0]);
    let iops_at = |n: f64| {
        let above = jobs.partition_point(|jobs| f64::from(*jobs) < n);
        if above == 0 {
            return iops[0];
        }
        let (low, high) = (f64::from(jobs[above - 1]), f64::from(jobs[above]));
        let share = (n - low) / (high - low);
        iops[above - 1] * (1.0 - share) + iops[above] * share
    };
    let last = f64::from(*jobs.last()?);
    let pays = |n: u32| {
        let step = (f64::from(n) / PAYOFF_STEPS).max(1.0);
        let (from, to) = (f64::from(n), f64::from(n) + step);
        (to <= last).then(|| (iops_at(to) - iops_at(from)) / step >= KNEE_SHARE * one_job)
    };
    jobs.iter().copied().find(|n| pays(*n) == Some(false))
}

fn ends_between(end: u32, jobs: &[u32], resampled: &[Vec<f64>]) -> (u32, Option<u32>) {
    let end_of = |iops: &Vec<f64>| last_paying(jobs, iops).map_or(f64::INFINITY, f64::from);
    let mut ends: Vec<f64> = resampled.iter().map(end_of).collect();
    ends.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (percentile(&ends, 0.025), percentile(&ends, 0.975)) else {
        let off = (f64::from(end) * MODEL_ERROR).ceil() as u32;
        return (end.saturating_sub(off).max(1), Some(end + off));
    };
    let low = low.min(f64::from(end)) * (1.0 - MODEL_ERROR);
    let high = high.max(f64::from(end)) * (1.0 + MODEL_ERROR);
    let high = high.is_finite().then_some(high.ceil() as u32);
    (low.floor().max(1.0) as u32, high)
}

/// A percentile without interpolation, which infinite values do not allow.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

fn curve(jobs: &[u32], predicted: &[f64], resampled: &[Vec<f64>], error: f64) -> Vec<CurvePoint> {
    let point = |(i, (jobs, iops)): (usize, (&u32, &f64))| {
        let drawn: Vec<f64> = resampled.iter().map(|other| other[i]).collect();
        let range = ResampledRange::from_draws(&drawn);
        let (low, high) = range.map_or((*iops, *iops), |range| (range.low, range.high));
        CurvePoint {
            jobs: *jobs,
            iops: *iops,
            low: low.min(*iops) * (1.0 - error.min(1.0)),
            high: high.max(*iops) * (1.0 + error),
            measured: false,
        }
    };
    jobs.iter().zip(predicted).enumerate().map(point).collect()
}

fn what_if(machine: &MachineModel, end: u32, max_jobs: u32) -> Vec<WhatIf> {
    let jobs = ((f64::from(end) * WHAT_IF_FACTOR).ceil() as u32).min(max_jobs);
    let limited = machine.iops(jobs);
    let gain = |resource| WhatIf {
        resource,
        jobs,
        gain_pct: 100.0 * (machine.without(resource).iops(jobs) / limited - 1.0),
    };
    let mut gains = Resource::ALL.map(gain).to_vec();
    gains.retain(|w| w.gain_pct > 0.1);
    gains.sort_by(|a, b| b.gain_pct.total_cmp(&a.gain_pct));
    gains
}

fn left_out_error(data: &CurveEvidence, structure: &Structure, near: &MachineModel) -> Option<f64> {
    if data.points.len() < MIN_POINTS {
        return None;
    }
    let error = |left_out: usize| {
        let mut others = data.clone();
        let point = others.points.remove(left_out);
        let rows = others.rows(structure.stage());
        let machine = fit(&others, &rows, structure, Some(near)).machine;
        (machine.iops(point.jobs) / point.iops.median - 1.0).abs()
    };
    let errors: f64 = (0..data.points.len()).map(error).sum();
    Some(100.0 * errors / data.points.len() as f64)
}

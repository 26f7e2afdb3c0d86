//! The universal scalability law (Gunther): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N -
//! 1)).
//!
//! lambda is the rate of one job. sigma is the share of serial work, in which jobs wait for each
//! other. kappa is the cost of keeping jobs consistent; it grows with the number of their pairs,
//! and it alone makes a curve fall. sigma and kappa are costs: the fit keeps them at 0 or above.
//!
//! **Fit.** With y = N / X the law is linear: y = a + b (N - 1) + c N (N - 1), where a = 1/lambda,
//! b = sigma/lambda, c = kappa/lambda. The fit starts at the non-negative least-squares solution of
//! that form. Levenberg-Marquardt steps refine it in X, each again a non-negative least-squares
//! problem. Residuals are relative, (X - model) / X, because throughput drifts by a share of
//! itself. So points at few and at many jobs count alike.

mod curve;

use super::shape::{CurveError, ScalingPoint, ScalingShape, sorted_points};
use crate::stats::samples::resampled_median;
use crate::stats::{ResampledRange, Rng, mean};
use curve::fit_curve;
use serde::{Deserialize, Serialize};

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// Throughput of one job, in the unit of the points.
    pub lambda: f64,
    /// Contention, 0 or above.
    pub sigma: f64,
    /// Coherence, 0 or above.
    pub kappa: f64,
}

impl Usl {
    /// The jobs at which the law is highest: sqrt((1 - sigma) / kappa), at least 1. `None` if kappa
    /// is 0.
    pub fn peak(&self) -> Option<f64> {
        let squared = (1.0 - self.sigma) / self.kappa;
        (self.kappa > 0.0).then(|| squared.max(1.0).sqrt())
    }
}

/// Fewest points for a fit; fewer cannot determine three parameters.
pub(crate) const MIN_POINTS: usize = 6;

/// Why no fit was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The points are not a valid curve.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// There are too few points.
    #[error(
        "fit the scalability law: {found} points, and it needs {MIN_POINTS}; measure more numbers of jobs"
    )]
    FewPoints {
        /// Number of points.
        found: usize,
    },
    /// The curve still rises at its end.
    #[error(
        "fit the scalability law: no point lies behind the peak at {peak} jobs, so kappa is not identified (a curve \
         that only rises fits many); measure more jobs"
    )]
    NothingBehindPeak {
        /// Jobs at the peak, which is the last point.
        peak: u32,
    },
    /// The curve falls from its start, which is not one job.
    #[error(
        "fit the scalability law: no point lies before the peak at {peak} jobs, so lambda and sigma are not \
         identified; measure fewer jobs"
    )]
    NothingBeforePeak {
        /// Jobs at the peak, which is the first point.
        peak: u32,
    },
    /// No law with sigma and kappa at 0 or above fits the data.
    #[error(
        "fit the scalability law: no solution with sigma and kappa at 0 or above; look at the points"
    )]
    NoSolution,
}

/// A point of the curve beside the fitted law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedPoint {
    /// Number of jobs.
    pub jobs: u32,
    /// The law's throughput X at this number of jobs.
    pub x: f64,
    /// (measured median - law) / measured median.
    pub relative_residual: f64,
}

/// A fitted law. It describes the points from which it was made; the residuals say how well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The law's parameters.
    pub usl: Usl,
    /// The law's own peak in jobs, possibly between points; `None` if kappa is 0.
    pub peak: Option<f64>,
    /// Every point used, with its residual.
    pub points: Vec<FittedPoint>,
    /// Root mean square of the relative residuals. If it is far above the spread of the trials, the
    /// curve has a step and the parameters mean nothing.
    pub rms_relative: f64,
    /// Share of the medians' variance that the law explains; below 0 if a constant fits better.
    pub r_squared: f64,
    /// Ranges of the parameters; `None` if a point has fewer than three trials.
    pub intervals: Option<Intervals>,
}

/// Fits the law to the medians of the points. Ranges come from resampling the trials with `seed`.
///
/// # Errors
/// See [`FitError`].
pub fn fit(points: &[ScalingPoint], seed: u64) -> Result<Fit, FitError> {
    let count = points.len();
    if count < MIN_POINTS {
        return Err(FitError::FewPoints { found: count });
    }
    let points = sorted_points(points)?;
    let peak = ScalingShape::from_points(&points)?.peak;
    if peak == points[count - 1].jobs {
        return Err(FitError::NothingBehindPeak { peak });
    }
    // A point at one job gives lambda by itself, so a peak there needs no point before it.
    if peak == points[0].jobs && peak > 1 {
        return Err(FitError::NothingBeforePeak { peak });
    }
    let median = |p: &ScalingPoint| (f64::from(p.jobs), p.interval().median);
    let medians: Vec<(f64, f64)> = points.iter().map(median).collect();
    let usl = fit_curve(&medians).ok_or(FitError::NoSolution)?;
    Ok(evaluate(usl, &medians, intervals(&points, seed)))
}

fn evaluate(usl: Usl, medians: &[(f64, f64)], intervals: Option<Intervals>) -> Fit {
    let point = |&(jobs, x): &(f64, f64)| {
        let waits = usl.sigma * (jobs - 1.0) + usl.kappa * jobs * (jobs - 1.0);
        let law = usl.lambda * jobs / (1.0 + waits);
        FittedPoint {
            jobs: jobs as u32,
            x: law,
            relative_residual: (x - law) / x,
        }
    };
    let fitted: Vec<FittedPoint> = medians.iter().map(point).collect();
    let squares: Vec<f64> = fitted.iter().map(|f| f.relative_residual.powi(2)).collect();
    let medians: Vec<f64> = medians.iter().map(|(_, x)| *x).collect();
    let mean_median = mean(&medians);
    let variation: f64 = medians.iter().map(|x| (x - mean_median).powi(2)).sum();
    let residuals = fitted.iter().zip(&medians).map(|(f, x)| (x - f.x).powi(2));
    Fit {
        peak: usl.peak(),
        rms_relative: mean(&squares).sqrt(),
        r_squared: 1.0 - residuals.sum::<f64>() / variation,
        points: fitted,
        usl,
        intervals,
    }
}

/// Fewest trials of each point; with fewer, ranges would be too narrow (see [`Intervals`]).
const MIN_TRIALS: usize = 3;
/// Number of resampled curves from which the ranges follow.
const RESAMPLES: usize = 1_000;

/// Ranges of the parameters by a 95 % percentile bootstrap that redraws each point's trials with
/// replacement. They exclude drift over the whole sweep. On simulated sweeps (nine points, trials
/// off by 2 %) they contained lambda, sigma and kappa in 57 to 60 of 60 sweeps with 3, 4, 5 or 9
/// trials, but in only 43 to 45 of 60 with two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Range of lambda.
    pub lambda: ResampledRange,
    /// Range of sigma.
    pub sigma: ResampledRange,
    /// Range of kappa.
    pub kappa: ResampledRange,
    /// Range of the law's peak in jobs; `None` if some of the resampled laws never fall.
    pub peak: Option<ResampledRange>,
}

/// The ranges of the parameters; `None` if a point has fewer than [`MIN_TRIALS`] trials.
fn intervals(points: &[ScalingPoint], seed: u64) -> Option<Intervals> {
    if points.iter().any(|p| p.trials.len() < MIN_TRIALS) {
        return None;
    }
    let mut rng = Rng::new(seed);
    let resample = |_| {
        let draw = |p: &ScalingPoint| (f64::from(p.jobs), resampled_median(&p.trials, &mut rng));
        fit_curve(&points.iter().map(draw).collect::<Vec<_>>())
    };
    let laws: Vec<Usl> = (0..RESAMPLES).filter_map(resample).collect();
    let peaks: Option<Vec<f64>> = laws.iter().map(Usl::peak).collect();
    let range = |values: &[f64]| ResampledRange::from_draws(values).unwrap_or_default();
    let range_of = |value: fn(&Usl) -> f64| range(&laws.iter().map(value).collect::<Vec<_>>());
    (!laws.is_empty()).then(|| Intervals {
        lambda: range_of(|l| l.lambda),
        sigma: range_of(|l| l.sigma),
        kappa: range_of(|l| l.kappa),
        peak: peaks.map(|p| range(&p)),
    })
}

//! The points of a curve, and its knee, peak and collapse, each by a definition.

use crate::stats::Interval;
use serde::{Deserialize, Serialize};

/// The knee is the first point whose jobs each add less than this share of one job's throughput.
pub const KNEE_SHARE: f64 = 0.10;
/// A median that is less than this share below the peak's is no collapse.
pub(crate) const COLLAPSE_DROP: f64 = 0.05;

/// One point of a curve, compared with its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingStep {
    /// Number of jobs, N.
    pub jobs: u32,
    /// Throughput X(N), in the unit of the points.
    pub x: Interval,
    /// X(N) / (N X(1)); 1 means linear scaling.
    pub efficiency: f64,
    /// Change of the median per job added since the previous point; `None` at the first point.
    pub gain_per_job: Option<f64>,
}

/// Knee, peak and collapse. The collapse also depends on the trials' `[min, max]`, which say
/// nothing for a single trial, so each throughput comes with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingShape {
    /// The points by ascending number of jobs.
    pub steps: Vec<ScalingStep>,
    /// X(1). If one job was not measured: throughput per job at the smallest number of jobs.
    pub one_job: f64,
    /// First N whose gain per added job is below 10 % of X(1); `None` if every step paid.
    pub knee: Option<u32>,
    /// N of the highest median. On a tie, the smallest N wins.
    pub peak: u32,
    /// X at the peak.
    pub peak_x: Interval,
    /// Smallest N above the peak where throughput collapsed: its interval is below the peak's, its
    /// median at least 5 % below, and both hold for the next point too.
    pub collapse: Option<u32>,
    /// N of the last point if only that one fell: a further point could confirm the collapse.
    pub unconfirmed: Option<u32>,
    /// X(largest N) / X(peak), 0..=1.
    pub retained: f64,
    /// Lowest X after the peak / X(peak), 0..=1; 1 if the peak is the last point.
    pub lowest: f64,
}

impl ScalingShape {
    /// The shape of the points, which may be in any order.
    ///
    /// # Errors
    /// See [`CurveError`].
    pub fn from_points(points: &[ScalingPoint]) -> Result<ScalingShape, CurveError> {
        let steps = steps(&sorted_points(points)?);
        let one_job = steps[0].x.median / f64::from(steps[0].jobs);
        let peak_index = peak_index(&steps);
        let (peak, peak_x) = (steps[peak_index].jobs, steps[peak_index].x);
        let after_peak = &steps[peak_index + 1..];
        let share = |s: &ScalingStep| s.x.median / peak_x.median;
        let collapse_median = (1.0 - COLLAPSE_DROP) * peak_x.median;
        let is_collapsed = |s: &ScalingStep| peak_x.is_above(&s.x) && s.x.median <= collapse_median;
        let collapsed: Vec<bool> = after_peak.iter().map(is_collapsed).collect();
        let confirmed = collapsed.windows(2).position(|w| w[0] && w[1]);
        let only_last = confirmed.is_none() && collapsed.last() == Some(&true);
        Ok(ScalingShape {
            one_job,
            knee: knee(&steps, one_job),
            peak,
            peak_x,
            collapse: confirmed.map(|i| after_peak[i].jobs),
            unconfirmed: after_peak.last().filter(|_| only_last).map(|s| s.jobs),
            retained: after_peak.last().map_or(1.0, share),
            lowest: after_peak.iter().map(share).fold(1.0, f64::min),
            steps,
        })
    }

    /// The point at `jobs`, if it was measured.
    pub fn step_at(&self, jobs: u32) -> Option<&ScalingStep> {
        self.steps.iter().find(|s| s.jobs == jobs)
    }
}

fn steps(points: &[ScalingPoint]) -> Vec<ScalingStep> {
    let one_job = points[0].interval().median / f64::from(points[0].jobs);
    let mut steps: Vec<ScalingStep> = Vec::with_capacity(points.len());
    for point in points {
        let x = point.interval();
        let gain = |previous: &ScalingStep| {
            (x.median - previous.x.median) / f64::from(point.jobs - previous.jobs)
        };
        steps.push(ScalingStep {
            jobs: point.jobs,
            x,
            efficiency: x.median / (f64::from(point.jobs) * one_job),
            gain_per_job: steps.last().map(gain),
        });
    }
    steps
}

/// The first of the steps with the highest median.
fn peak_index(steps: &[ScalingStep]) -> usize {
    let median = |i: &usize| steps[*i].x.median;
    let indices = (0..steps.len()).rev();
    indices
        .max_by(|a, b| median(a).total_cmp(&median(b)))
        .unwrap_or(0)
}

fn knee(steps: &[ScalingStep], one_job: f64) -> Option<u32> {
    let min_gain = KNEE_SHARE * one_job;
    let is_flat = |s: &&ScalingStep| s.gain_per_job.is_some_and(|gain| gain < min_gain);
    steps.iter().find(is_flat).map(|s| s.jobs)
}

/// The trials at one number of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingPoint {
    /// Number of jobs.
    pub jobs: u32,
    /// Throughput of each trial, in any one unit.
    pub trials: Vec<f64>,
}

impl ScalingPoint {
    /// A point of several trials.
    pub fn new(jobs: u32, trials: &[f64]) -> ScalingPoint {
        ScalingPoint {
            jobs,
            trials: trials.to_vec(),
        }
    }

    /// Median and range of the trials.
    pub fn interval(&self) -> Interval {
        Interval::from_samples(&self.trials)
    }
}

/// Why points are not a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// There is no point.
    #[error("analyse scaling: no point was measured")]
    Empty,
    /// A point has no jobs, no trials, or a throughput that is not a positive number.
    #[error(
        "analyse scaling: at {jobs} jobs there is no trial, or one that is not above 0; measure the point again"
    )]
    NotPositive {
        /// The point's number of jobs.
        jobs: u32,
    },
    /// Two points have the same number of jobs.
    #[error("analyse scaling: {jobs} jobs are there twice; put their trials into one point")]
    Twice {
        /// The number of jobs.
        jobs: u32,
    },
}

pub(super) fn sorted_points(points: &[ScalingPoint]) -> Result<Vec<ScalingPoint>, CurveError> {
    let is_valid = |p: &ScalingPoint| {
        p.jobs > 0 && !p.trials.is_empty() && p.trials.iter().all(|&x| x > 0.0 && x.is_finite())
    };
    if let Some(p) = points.iter().find(|p| !is_valid(p)) {
        return Err(CurveError::NotPositive { jobs: p.jobs });
    }
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|p| p.jobs);
    match sorted.windows(2).find(|w| w[0].jobs == w[1].jobs) {
        Some(w) => Err(CurveError::Twice { jobs: w[0].jobs }),
        None if sorted.is_empty() => Err(CurveError::Empty),
        None => Ok(sorted),
    }
}

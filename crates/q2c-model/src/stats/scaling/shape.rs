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
    /// See [`Bad`].
    pub fn from_points(points: &[ScalingPoint]) -> Result<ScalingShape, Bad> {
        let steps = steps(&in_order(points)?);
        let at = peak(&steps);
        let (first, top) = (&steps[0], &steps[at].x);
        let one_job = first.x.median / f64::from(first.jobs);
        let behind = &steps[at + 1..];
        let share = |s: &ScalingStep| s.x.median / top.median;
        let fallen: Vec<bool> = behind.iter().map(|s| fell(&s.x, top)).collect();
        let confirmed = fallen.windows(2).position(|w| w[0] && w[1]);
        let alone = confirmed.is_none() && fallen.last() == Some(&true);
        let (peak, peak_x) = (steps[at].jobs, *top);
        Ok(ScalingShape {
            one_job,
            knee: knee(&steps, one_job),
            peak,
            peak_x,
            collapse: confirmed.map(|i| behind[i].jobs),
            unconfirmed: behind.last().filter(|_| alone).map(|s| s.jobs),
            retained: behind.last().map_or(1.0, share),
            lowest: behind.iter().map(share).fold(1.0, f64::min),
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
        let gain = |before: &ScalingStep| {
            (x.median - before.x.median) / f64::from(point.jobs - before.jobs)
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

fn peak(steps: &[ScalingStep]) -> usize {
    let higher = |best: usize, i: usize| {
        if steps[i].x.median > steps[best].x.median {
            i
        } else {
            best
        }
    };
    (0..steps.len()).fold(0, higher)
}

fn knee(steps: &[ScalingStep], one_job: f64) -> Option<u32> {
    let least = KNEE_SHARE * one_job;
    let flat = |s: &&ScalingStep| s.gain_per_job.is_some_and(|gain| gain < least);
    steps.iter().find(flat).map(|s| s.jobs)
}

/// True if the interval is below the peak's, and the median [`COLLAPSE_DROP`] below the peak's.
fn fell(x: &Interval, peak: &Interval) -> bool {
    peak.above(x) && x.median <= (1.0 - COLLAPSE_DROP) * peak.median
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
pub enum Bad {
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

pub(super) fn in_order(points: &[ScalingPoint]) -> Result<Vec<ScalingPoint>, Bad> {
    let good = |p: &ScalingPoint| {
        p.jobs > 0 && !p.trials.is_empty() && p.trials.iter().all(|&x| x > 0.0 && x.is_finite())
    };
    if let Some(p) = points.iter().find(|p| !good(p)) {
        return Err(Bad::NotPositive { jobs: p.jobs });
    }
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|p| p.jobs);
    match sorted.windows(2).find(|w| w[0].jobs == w[1].jobs) {
        Some(w) => Err(Bad::Twice { jobs: w[0].jobs }),
        None if sorted.is_empty() => Err(Bad::Empty),
        None => Ok(sorted),
    }
}

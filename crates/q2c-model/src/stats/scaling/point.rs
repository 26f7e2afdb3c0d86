//! The points of a curve.

use crate::stats::Interval;

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
    #[must_use]
    pub fn new(jobs: u32, trials: &[f64]) -> ScalingPoint {
        ScalingPoint {
            jobs,
            trials: trials.to_vec(),
        }
    }

    /// Median and range of the trials.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval::from_samples(&self.trials)
    }
}

/// Why points make no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// There is no point.
    #[error("analyse scaling: no point was measured")]
    Empty,
    /// A point has no jobs, no trials, or a throughput that is no positive number.
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

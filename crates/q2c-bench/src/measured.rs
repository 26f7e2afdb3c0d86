//! The trials of each point. A trial of several phases counts as one trial of each phase's point.

use crate::{BenchTrial, PointSetup, StageRuns};
use q2c_model::stats::Interval;
use q2c_result::bench::{BenchPoint, PointStages};
use q2c_run::runner::Summary;
use serde::{Deserialize, Serialize};

/// One trial as the run's journal keeps it: its phases in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhasedTrial {
    pub phases: Vec<BenchTrial>,
}

pub(super) struct MeasuredPoint<'a> {
    pub setup: &'a PointSetup,
    pub point: BenchPoint,
    pub trials: Vec<&'a BenchTrial>,
    pub failures: Vec<String>,
    /// The stages in the block layer; `None` if they were not requested.
    pub stages: Option<PointStages>,
}

impl MeasuredPoint<'_> {
    pub(crate) fn interval(&self, number: impl Fn(&BenchTrial) -> f64) -> Interval {
        let numbers = self.trials.iter().map(|&trial| number(trial));
        Interval::from_samples(&numbers.collect::<Vec<f64>>())
    }
}

/// The points in the order of the plan, then of the phases. `stages` is `None` if not requested.
pub(super) fn measured_points<'a>(
    setups: &'a [PointSetup],
    summary: &'a Summary<BenchPoint, PhasedTrial>,
    stages: Option<&StageRuns>,
) -> Vec<MeasuredPoint<'a>> {
    let mut measured = Vec::new();
    for (at, (setup, runs)) in setups.iter().zip(&summary.cells).enumerate() {
        measured.extend(setup.points().enumerate().map(|(n, point)| MeasuredPoint {
            setup,
            point,
            trials: runs.outcomes().filter_map(|o| o.phases.get(n)).collect(),
            failures: runs.failures().map(str::to_owned).collect(),
            stages: stages.map(|stages| stages.phase_stages(at, n)),
        }));
    }
    measured
}

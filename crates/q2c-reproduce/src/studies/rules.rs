//! Groups of sleep rules compete on the library of patterns, and on sets of its sources.

use crate::file::{CompetingRules, Experiment};
use crate::jobs::AxisValues;
use q2c_model::{Bytes, CostModel, Fault, Nanos};
use q2c_result::reproduce::{Point, PointTrial, StatedError};
use q2c_sim::{Arrival, Limits, Objective};
use q2c_study::{
    CellProgress, Contest, GroupLoss, LaneStorage, SimTrace, SourceOptions, Study, Timing,
    read_library,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The figures of groups of rules.
pub(crate) const FIGURES: [&str; 2] = [
    "loss",     // mean loss of the rule's configuration that is best on average, 0..1
    "left_out", // mean loss on each source of the configuration that is best on the others, 0..1
];

/// Simulated warm-up time, as in `q2c poll study`.
const WARM_UP: Nanos = Nanos::from_millis(400);
/// Memory for all patterns, many times what the library needs.
const MEMORY: Bytes = Bytes(1 << 30);

/// The error that the simulator states for itself.
pub(crate) fn stated_error() -> StatedError {
    StatedError {
        model: "the simulator of sleep rules".to_owned(),
        error: "recorded latencies are replayed at the costs of a published machine, and the device \
                does not answer to the rule; the interval is over sets of the patterns' sources, so \
                it tells what hangs on the choice of sources, and not how far the simulation is off"
            .to_owned(),
    }
}

/// Reads the library of patterns; `folder` takes its temporary files.
pub fn library(folder: &Path, stop: &AtomicBool) -> Result<Vec<SimTrace>, Fault> {
    let options = SourceOptions::as_stated(LaneStorage {
        memory: MEMORY,
        folder: folder.to_owned(),
        new_file: q2c_workbench::lane_file::new,
    });
    read_library(&options, stop)
}

/// How groups of rules are compared.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Number of trials. The first uses all sources of the patterns, each other one a random set.
    pub trials: u32,
    /// Seed of the random sets.
    pub seed: u64,
}

/// Runs the study. Calls `report` with the number of finished simulations.
pub fn points(
    rules: &CompetingRules,
    traces: &[SimTrace],
    draw: Draw,
    stop: &AtomicBool,
    report: &mut dyn FnMut(usize),
) -> Result<Vec<Point>, Fault> {
    let cost = CostModel::published();
    let study = Study {
        traces,
        reading_s: 0.0,
        policies: &rules.policies,
        cost: &cost,
        cost_in_words: String::new(),
        timing: Timing {
            warm_up: WARM_UP,
            measure: None,
            seed: draw.seed,
        },
        arrival: Arrival::ClosedLoop,
        objective: Objective::default(),
        limits: Limits::default(),
        follow: None,
    };
    let policies = |&group: &usize| rules.groups[group].1.clone();
    let contest = |(_, groups): &(String, Vec<usize>)| Contest {
        groups: groups.iter().map(policies).collect(),
    };
    let contests: Vec<Contest> = rules.among.iter().map(contest).collect();
    let losses = study.contests(&contests, draw.trials, &mut CellProgress::new(stop, report))?;
    let mut points = Vec::new();
    for (among, ((_, groups), sets)) in rules.among.iter().zip(&losses).enumerate() {
        points.extend(groups.iter().enumerate().map(|(n, &group)| Point {
            at: rules.axis_values(group, among),
            trials: trials(sets, n),
            predicted: true,
            ..Point::default()
        }));
    }
    Ok(points)
}

/// The points without trials, for a run that was stopped.
pub fn unrun_points(experiment: &Experiment) -> Vec<Point> {
    let point = |at: AxisValues| Point {
        at,
        predicted: true,
        ..Point::default()
    };
    experiment.points().into_iter().map(point).collect()
}

fn trials(sets: &[Vec<GroupLoss>], group: usize) -> Vec<PointTrial> {
    let trial = |(trial, set): (usize, &Vec<GroupLoss>)| {
        let group_loss = set.get(group);
        PointTrial {
            trial: trial as u32,
            figures: crate::figures([
                ("loss", group_loss.map(|loss| loss.on_average)),
                ("left_out", group_loss.and_then(|loss| loss.left_out)),
            ]),
            ..PointTrial::default()
        }
    };
    sets.iter().enumerate().map(trial).collect()
}

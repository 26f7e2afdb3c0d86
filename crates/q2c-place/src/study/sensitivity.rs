//! How much hangs on what is assumed: the rate of background tasks, and the threshold.

use super::figures::{PolicyRunInputs, SetupRuns};
use super::{PlaceStudyRequest, SetupRequest};
use itertools::iproduct;
use q2c_model::Fault;
use q2c_result::place::{Phases, PolicyName, SensitivityPoint};

const RATE_FACTORS: [f64; 7] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
const THRESHOLDS: [u32; 2] = [1, 2];
const POLICIES: [PolicyName; 3] = [
    PolicyName::Free,
    PolicyName::ProposedLiteral,
    PolicyName::Proposed,
];
/// The most starts of each point: a point has to show a direction, not the third digit.
const MAX_STARTS: u32 = 20;

/// The run times at every point, over `unit`. Without background tasks the threshold alone changes.
pub(super) fn points(
    inputs: &PolicyRunInputs<'_>,
    unit: f64,
) -> Result<Vec<SensitivityPoint>, Fault> {
    let has_background = inputs.machine.background.is_some();
    let factors: &[f64] = if has_background {
        &RATE_FACTORS
    } else {
        &[1.0]
    };
    let points = iproduct!(THRESHOLDS, factors.iter().copied());
    let run = |(threshold, rate_factor)| run(inputs, threshold, rate_factor, unit);
    points.map(run).collect()
}

fn run(
    inputs: &PolicyRunInputs<'_>,
    threshold: u32,
    rate_factor: f64,
    unit: f64,
) -> Result<SensitivityPoint, Fault> {
    let background = inputs.machine.background.map(|phases| Phases {
        sleeps_s: phases.sleeps_s / rate_factor,
        ..phases
    });
    let machine = SetupRequest {
        background,
        threshold,
        ..inputs.machine.clone()
    };
    let request = PlaceStudyRequest {
        starts: inputs.request.starts.min(MAX_STARTS),
        ..inputs.request.clone()
    };
    let inputs = PolicyRunInputs {
        map: inputs.map,
        machine: &machine,
        request: &request,
    };
    let runs = SetupRuns::of_policies(&inputs, &POLICIES)?;
    let time = |name| runs.slowdown(name) / unit;
    Ok(SensitivityPoint {
        rate_factor,
        threshold,
        free: time(PolicyName::Free),
        proposed_literal: time(PolicyName::ProposedLiteral),
        proposed: time(PolicyName::Proposed),
    })
}

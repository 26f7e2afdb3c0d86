//! How much hangs on what is assumed: the rate of background tasks, and the threshold.

use super::PlaceStudyRequest;
use super::figures::{PolicyRunInputs, SetupRuns};
use q2c_model::Fault;
use q2c_result::place::{BackgroundTask, PolicyName, SensitivityPoint};

const RATE_FACTORS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
const THRESHOLDS: [u32; 2] = [1, 2];
const POLICIES: [PolicyName; 3] = [
    PolicyName::Free,
    PolicyName::ProposedLiteral,
    PolicyName::Proposed,
];
/// The most starts of each point: a point has to show a direction, not the third digit.
const MAX_STARTS: u32 = 20;

/// The request at every point, with the factor of its rate. Without background tasks the threshold
/// alone changes.
pub(super) fn points(request: &PlaceStudyRequest) -> Vec<(f64, PlaceStudyRequest)> {
    let factors: &[f64] = if request.background.is_some() {
        &RATE_FACTORS
    } else {
        &[1.0]
    };
    let of_threshold = |threshold| {
        factors.iter().map(move |&factor| {
            let background = request.background.map(|background| BackgroundTask {
                sleeps_s: background.sleeps_s / factor,
                ..background
            });
            let point = PlaceStudyRequest {
                background,
                threshold,
                starts: request.starts.min(MAX_STARTS),
                ..request.clone()
            };
            (factor, point)
        })
    };
    THRESHOLDS.into_iter().flat_map(of_threshold).collect()
}

pub(super) fn run(
    inputs: &PolicyRunInputs<'_>,
    (rate_factor, request): &(f64, PlaceStudyRequest),
    unit: f64,
) -> Result<SensitivityPoint, Fault> {
    let inputs = PolicyRunInputs { request, ..*inputs };
    let runs = SetupRuns::of_policies(&inputs, &POLICIES)?;
    let time = |name| runs.slowdown(name) / unit;
    Ok(SensitivityPoint {
        rate_factor: *rate_factor,
        threshold: request.threshold,
        free: time(PolicyName::Free),
        proposed_literal: time(PolicyName::ProposedLiteral),
        proposed: time(PolicyName::Proposed),
    })
}

//! The published set-ups against the published figures.

use super::*;
use crate::rules::LINUX_THRESHOLD;
use crate::speed;
use q2c_model::Exit;
use std::sync::LazyLock;

fn request(setups: Vec<SetupRequest>, starts: u32) -> PlaceStudyRequest {
    PlaceStudyRequest {
        setups,
        speeds: speed::published(),
        speeds_from: SpeedsFrom::Published,
        cache: None,
        rules: PolicyName::ProposedLiteral,
        sensitivity: false,
        poll: PollTimes::default(),
        starts,
        seed: 1,
    }
}

fn simulated(setups: Vec<SetupRequest>, starts: u32) -> Result<PlaceSimResult, Fault> {
    simulate(&request(setups, starts))
}

static PUBLISHED: LazyLock<PlaceSimResult> =
    LazyLock::new(|| simulated(setups(), 40).expect("every task ends"));

fn smaller_error(gain: &PublishedGain) -> f64 {
    let error = |simulated_pct: f64| (simulated_pct - gain.published_pct).abs();
    error(gain.simulated.one_minus).min(error(gain.simulated.t_over_t_minus_1))
}

#[test]
fn the_published_figures_are_predicted() {
    let result = &*PUBLISHED;
    let figures: Vec<&PublishedGain> = result.setups.iter().flat_map(|s| &s.published).collect();
    assert_eq!(figures.len(), 4);
    for published in figures {
        let allowed = match published.figure {
            PublishedFigure::ScatterOverBunch => 0.01,
            PublishedFigure::ColocateOverSpread => 2.0,
            PublishedFigure::ProposedOverFree | PublishedFigure::ProposedOverWorst => 5.0,
        };
        assert!(smaller_error(published) <= allowed, "{published:?}");
        let fitted = published.figure == PublishedFigure::ScatterOverBunch;
        assert_eq!(published.fitted, fitted, "fitted to one figure only");
    }
}

#[test]
fn the_rules_come_within_two_percent_of_the_best() {
    for setup in &PUBLISHED.setups {
        let times = setup.c_time;
        assert_eq!(times.best, Some(1.0));
        assert!(times.proposed <= 1.02, "{} {times:?}", setup.name);
        assert!(times.proposed_literal <= 1.02, "{} {times:?}", setup.name);
    }
}

#[test]
fn polling_tasks_lose_nothing_by_the_rules() {
    let result = &*PUBLISHED;
    let four_cores = &result.setups[2];
    let policies = &four_cores.policies;
    let figures_of = |name| policies.iter().find(|p| p.policy == name).unwrap();
    let [free, proposed] = [PolicyName::Free, PolicyName::Proposed].map(figures_of);
    // Two tasks on each CPU, whatever the policy.
    assert!((proposed.p_bandwidth / free.p_bandwidth - 1.0).abs() < 0.024);
    assert!(proposed.states.colocate > 0.97, "{:?}", proposed.states);
    assert_eq!(four_cores.worst_is, [PolicyName::Bunch]);
    assert_eq!(four_cores.best.as_ref().unwrap()[0].len(), 2);
}

/// The published rules alone converge by Linux's threshold at any of these rates, and by a
/// threshold of two only where background tasks run a hundred times as often.
#[test]
fn the_published_rules_converge_by_the_threshold_of_linux() {
    let result = simulate(&PlaceStudyRequest {
        sensitivity: true,
        ..request(vec![setups().remove(2)], 10)
    });
    let points = &result.expect("every task ends").setups[0].sensitivity;
    assert_eq!(points.len(), 14);
    for point in points {
        let (literal, rate) = (point.proposed_literal, point.rate_factor);
        assert!(point.free > 1.05 && point.proposed < 1.05, "{point:?}");
        match point.threshold {
            LINUX_THRESHOLD => assert!(literal < 1.05, "{point:?}"),
            _ => assert!(rate > 10.0 || literal > 1.05, "{point:?}"),
        }
    }
}

#[test]
fn a_set_up_without_compute_tasks_is_refused() {
    let mut none = setups();
    none.truncate(1);
    none[0].compute = 0;
    let refused = simulated(none, 1).unwrap_err();
    assert_eq!(refused.exit(), Exit::Usage);
    assert!(refused.message().contains("found none"), "{refused}");
}

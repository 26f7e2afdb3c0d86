//! The sweep that a report shows: the grid and the user's rules on the first recording, with
//! corrected costs.

use crate::{SizeSearch, Tune};
use q2c_advice::{STANDARD_FLOOR, WAIT_QUANTILES};
use q2c_model::Nanos;
use q2c_model::stats::{percentile, quantiles, sorted};
use q2c_policy::PolicySpec;
use q2c_result::tune::{Sweep, SweepCell};
use q2c_sim::{
    Arrival, Configuration, Drive, LaneRecording, Limits, MinIops, SimOutcome, Waiting, choose,
    pareto_front_of, standard_grid, sweep,
};

/// Simulated warm-up and measured time of the report's sweep.
const WARM_UP: Nanos = Nanos::from_millis(400);
const MEASURE: Nanos = Nanos::from_millis(2_000);

pub(super) fn median_wait_ns(lanes: &[LaneRecording]) -> f64 {
    percentile(&all_waits(lanes), 0.5)
}

pub(super) fn wait_quantiles(lanes: &[LaneRecording]) -> [f32; WAIT_QUANTILES] {
    let waits = quantiles(&all_waits(lanes), WAIT_QUANTILES);
    std::array::from_fn(|i| waits[i] as f32)
}

fn all_waits(lanes: &[LaneRecording]) -> Vec<f64> {
    let waits = lanes.iter().flat_map(|lane| lane.wait.iter());
    sorted(&waits.map(|&w| f64::from(w)).collect::<Vec<_>>())
}

pub(super) fn sweep_of_first_recording(tune: &Tune<'_>, search: &SizeSearch) -> Sweep {
    let (cost, lanes) = (&search.referee.cost(), &search.first_recordings[..]);
    let mut grid = standard_grid(Nanos(median_wait_ns(lanes) as u64));
    grid.extend(tune.spec.policy.iter().cloned());
    let configuration = Configuration {
        lanes,
        cost,
        drive: Drive {
            warm_up: WARM_UP,
            measure: MEASURE,
            seed: tune.spec.workload.run.seed,
        },
        arrival: Arrival::ClosedLoop,
    };
    let outcomes = sweep(&grid, &configuration);
    let poll = configuration.simulate(Waiting::poll(lanes.len()));
    let follows = grid.iter().map(PolicySpec::follows_the_device);
    let eligible: Vec<bool> = follows.collect();
    let floor = tune.spec.goal.limits().min_iops;
    let limits = Limits {
        min_iops: Some(floor.unwrap_or(MinIops::OfPolling(STANDARD_FLOOR))),
        ..tune.spec.goal.limits()
    };
    let objective = tune.spec.goal.objective;
    let choice = choose(&outcomes, &eligible, &poll, objective, &limits);
    let cell = |(policy, outcome): (&PolicySpec, &SimOutcome)| {
        let params = policy.params().into_iter();
        SweepCell {
            rule: policy.rule().name.to_owned(),
            policy: policy.to_string(),
            params: params.map(|(n, value)| (n.to_owned(), value)).collect(),
            keeps_limits: Some(limits.allow(outcome, choice.floor_iops)),
            gives: outcome.gives.into(),
        }
    };
    Sweep {
        bs: search.bs,
        ios: lanes.iter().map(|lane| lane.len() as u64).sum(),
        pareto: pareto_front_of(&outcomes),
        best: choice.best,
        oracle: configuration.simulate(Waiting::Oracle).gives.into(),
        poll: poll.gives.into(),
        floor: match floor {
            Some(_) => choice.floor,
            None => MinIops::OfPolling(STANDARD_FLOOR).in_words(),
        },
        floor_iops: choice.floor_iops,
        cells: grid.iter().zip(&outcomes).map(cell).collect(),
    }
}

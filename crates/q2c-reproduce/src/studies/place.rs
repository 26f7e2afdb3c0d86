//! The study of placements: the simulator's result in each trial, whose starting states are random.

use crate::jobs::AxisValues;
use q2c_place::latency::PollTimes;
use q2c_place::speed;
use q2c_place::study::{PlaceStudyRequest, SetupRequest, simulate};
use q2c_result::place::{PolicyName, Setup, SpeedsFrom};
use q2c_result::reproduce::{PointTrial, StatedError};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use std::collections::BTreeMap;

/// The figures of placements. A gain compares run times of computing tasks: `1 - T / T'`.
pub(crate) const FIGURES: [&str; 7] = [
    "scatter_over_bunch", // gain of polling tasks on different cores over the same cores, 0..1
    "colocate_over_spread", // gain of polling tasks on one logical CPU of a core over both, 0..1
    "over_free", // gain of the published rules over a balancer that is blind to polling, 0..1
    "over_worst", // gain of the published rules over the worst placement, 0..1
    "over_scatter", // gain of scatter over the balancer that is blind to polling, 0..1
    "from_best", // run time under the published rules over the best placement, less 1
    "polling_change", // change of the polling tasks' I/Os under the published rules, as a share
];

/// Wall time of a trial, seconds.
pub(crate) const TRIAL_S: f64 = 0.02;
/// Starting states of each policy in a trial.
const STARTS: u32 = 20;

/// The study as a plan for the runner. It has one cell.
pub struct PlacePlan<'a> {
    /// The machine and its tasks.
    pub setup: &'a SetupRequest,
}

/// The error that the simulator states for itself.
pub(crate) fn stated_error() -> StatedError {
    StatedError {
        model: "the simulator of placements".to_owned(),
        error: "its speeds beside neighbours follow from the published gain of scatter over bunch, \
                not from this machine; q2c place calibrate measures this machine's where cores have \
                two threads"
            .to_owned(),
    }
}

fn figures(setup: &Setup) -> BTreeMap<String, f64> {
    let gain = |slower: f64, faster: f64| 1.0 - faster / slower;
    let time = &setup.c_time;
    let p_bandwidth = |policy: PolicyName| {
        let mut policies = setup.policies.iter();
        let figures = policies.find(|figures| figures.policy == policy)?;
        Some(figures.p_bandwidth)
    };
    let polling = p_bandwidth(PolicyName::ProposedLiteral).zip(p_bandwidth(PolicyName::Free));
    let change = polling.map(|(proposed, free)| (proposed / free - 1.0).abs());
    let over_spread = Some(gain(time.spread, time.colocate));
    let over_worst = time.worst.map(|worst| gain(worst, time.proposed_literal));
    let from_best = time.best.map(|best| time.proposed_literal / best - 1.0);
    crate::figures([
        ("scatter_over_bunch", Some(gain(time.bunch, time.scatter))),
        ("colocate_over_spread", over_spread),
        ("over_free", Some(gain(time.free, time.proposed_literal))),
        ("over_worst", over_worst),
        ("over_scatter", Some(gain(time.free, time.scatter))),
        ("from_best", from_best),
        ("polling_change", change),
    ])
}

impl Plan for PlacePlan<'_> {
    type Cell = AxisValues;
    type Outcome = PointTrial;
    const UNIT: &'static str = "gain over free";

    fn cells(&self) -> Vec<CellPlan<Self::Cell>> {
        vec![CellPlan {
            key: "at ".to_owned(),
            label: "placements".to_owned(),
            seconds: TRIAL_S,
            cell: AxisValues::new(),
        }]
    }

    fn metric(&self, trial: &PointTrial) -> f64 {
        trial.figures.get("over_free").copied().unwrap_or(f64::NAN)
    }

    fn run(
        &mut self,
        _: &CellPlan<Self::Cell>,
        context: &mut Context<'_>,
    ) -> Result<PointTrial, CellError> {
        let request = PlaceStudyRequest {
            setups: vec![self.setup.clone()],
            speeds: speed::published(),
            speeds_from: SpeedsFrom::Published,
            cache: None,
            rules: PolicyName::ProposedLiteral,
            sensitivity: false,
            poll: PollTimes::default(),
            starts: STARTS,
            seed: context.seed >> 2,
        };
        let result = simulate(&request).map_err(|e| CellError::Cell(format!("failed to {e}")))?;
        Ok(PointTrial {
            trial: context.trial,
            figures: figures(&result.setups[0]),
            ..PointTrial::default()
        })
    }
}

//! The published set-ups and their figures.

use super::SetupRequest;
use crate::rules::LINUX_THRESHOLD;
use crate::speed::SCATTER_OVER_BUNCH_PCT;
use q2c_result::place::{Phases, PublishedFigure};

/// The published gain of colocate over spread, percent: a mean over the published programs.
pub(crate) const COLOCATE_OVER_SPREAD_PCT: f64 = 9.09;
/// The published gain of the rules over the free balancer, percent: perlbench and x264.
pub(crate) const PROPOSED_OVER_FREE_PCT: f64 = 9.8;
/// The published gain of the rules over the worst placement, percent: perlbench and x264.
pub(crate) const PROPOSED_OVER_WORST_PCT: f64 = 21.75;

/// Work of a C task, seconds alone: programs of SPEC CPU2017 run for minutes. This is ours; the
/// source does not give run times.
const WORK_S: f64 = 300.0;

/// Background tasks that make the free balancer move busy tasks as often as Linux did in a guest,
/// 0.19 times a second: two cores with two threads each, eight busy tasks (docs/placement.md).
pub const BACKGROUND: Phases = Phases {
    runs_s: 5e-4,
    sleeps_s: 4.3,
};

/// Bunch and scatter on two cores, to which the speeds are fitted; colocate and spread on one;
/// balancers on four. Means over the published programs (perlbench and x264 for balancers).
pub fn setups() -> Vec<SetupRequest> {
    let setup = |cores, tasks, published| SetupRequest {
        cores,
        threads: 2,
        caches: 1,
        compute: tasks,
        polling: tasks,
        work_s: WORK_S,
        compute_phases: None,
        polling_phases: None,
        background: Some(BACKGROUND),
        threshold: LINUX_THRESHOLD,
        published,
    };
    use PublishedFigure as Figure;
    let scatter = vec![(Figure::ScatterOverBunch, SCATTER_OVER_BUNCH_PCT, true)];
    let colocate = vec![(Figure::ColocateOverSpread, COLOCATE_OVER_SPREAD_PCT, false)];
    let proposed = vec![
        (Figure::ProposedOverFree, PROPOSED_OVER_FREE_PCT, false),
        (Figure::ProposedOverWorst, PROPOSED_OVER_WORST_PCT, false),
    ];
    vec![
        setup(2, 2, scatter),
        setup(1, 2, colocate),
        setup(4, 8, proposed),
    ]
}

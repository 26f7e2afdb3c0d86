//! The published set-ups and their figures.

use super::SetupOf;
use crate::speed::SCATTER_OVER_BUNCH_PCT;
use q2c_result::place::PublishedFigure;

/// Run time of a C task of the published set-ups, seconds alone. The published programs run for
/// minutes; what the first moves cost is a smaller share of that than it is here.
const WORK_S: f64 = 20.0;

/// The published set-ups: bunch and scatter on two cores, to which the speeds are fitted; colocate
/// and spread on one core; and the balancers on four cores. The figures are means over the
/// published programs (over perlbench and x264 for the balancers).
#[must_use]
pub fn setups() -> Vec<SetupOf> {
    let setup = |cores, tasks, published| SetupOf {
        cores,
        threads: 2,
        caches: 1,
        compute: tasks,
        polling: tasks,
        work_s: WORK_S,
        compute_phases: None,
        polling_phases: None,
        published,
    };
    use PublishedFigure as Figure;
    vec![
        setup(
            2,
            2,
            vec![(Figure::ScatterOverBunch, SCATTER_OVER_BUNCH_PCT, true)],
        ),
        setup(1, 2, vec![(Figure::ColocateOverSpread, 9.09, false)]),
        setup(
            4,
            8,
            vec![
                (Figure::ProposedOverFree, 9.8, false),
                (Figure::ProposedOverWorst, 21.75, false),
            ],
        ),
    ]
}

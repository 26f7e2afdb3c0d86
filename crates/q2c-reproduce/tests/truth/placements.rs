//! The placements: the simulator is the truth, and machines without its effects reverse the claims.

use crate::harness::{assert_verdicts, changed, check_all, run, without_needs};
use ReproduceVerdict::{CannotJudge, DoesNotHold, Holds};
use q2c_reproduce::Experiment;
use q2c_result::reproduce::{Basis, ReproduceResult, ReproduceVerdict};

const TARGET: &str = "sim:1ms";

fn simulated(experiment: &Experiment) -> ReproduceResult {
    run(experiment, TARGET, 2, 1.0)
}

#[test]
fn between_cores() {
    let literal = changed("placement-between-cores", &[]);
    let result = simulated(&literal);
    assert_verdicts(&result, CannotJudge, &["scatter beats bunch"]);
    assert_verdicts(&result, Holds, &["free balancer is behind"]);
    // Without `fitted`, which forbids a verdict, the figure is judged: two on two cores gain 17 %.
    let judged = without_needs(&literal);
    let says = ["scatter beats bunch", "vary by less than 1 %"];
    assert_verdicts(&simulated(&judged), Holds, &says);
    // Cores with one thread have no neighbours.
    let one = ("threads = 2", "threads = 1");
    let alone = without_needs(&changed("placement-between-cores", &[one]));
    check_all(&simulated(&alone), &[("scatter beats bunch", DoesNotHold)]);
    assert_eq!(simulated(&judged).claims[0].basis, Basis::Predicted);
}

#[test]
fn within_a_core() {
    let literal = changed("placement-within-core", &[]);
    check_all(&simulated(&literal), &[("colocate beats spread", Holds)]);
    // Without polling tasks there is nothing to colocate.
    let none = changed("placement-within-core", &[("polling = 2", "polling = 0")]);
    check_all(&simulated(&none), &[("colocate beats spread", DoesNotHold)]);
}

#[test]
fn balancer() {
    let literal = changed("placement-balancer", &[]);
    let result = simulated(&literal);
    assert_verdicts(&result, Holds, &["near the best placement"]);
    // The model was fitted to these two claims.
    let fitted = ["deviates by at most", "beat the worst placement"];
    assert_verdicts(&result, CannotJudge, &fitted);
    let none = changed("placement-balancer", &[("polling = 8", "polling = 0")]);
    assert_verdicts(&simulated(&none), DoesNotHold, &["beat the free balancer"]);
}

use super::{CHEAP, GOOD, find};
use crate::tree::SysProcTree;
use CheckVerdict::{Pass, Warn};
use q2c_host::doctor::{DoctorFacts, ToolCosts, run};
use q2c_result::{Check, CheckVerdict};

pub(crate) const CASES: &str = "
    sys/devices/system/clocksource/clocksource0/current_clocksource = hpet ; clock ; Warn ; hpet ; echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource
    - sys/devices/system/clocksource ; clock ; Unknown ; does not tell ; -
    proc/cpuinfo = flags : tsc constant_tsc ; tsc ; Warn ; not invariant ; -
";

#[test]
fn the_tools_own_costs() {
    let tree = SysProcTree::new(GOOD);
    let roots = tree.roots();
    let with = |costs: ToolCosts, id: &str| {
        let mut facts = DoctorFacts::new(&roots, None);
        facts.costs = Some(costs);
        let checks = run(&facts).checks;
        let check = find(&checks, id);
        (check.verdict, check.found.clone())
    };
    // 31 ns per I/O are 32.3 million I/Os per second.
    let loop_cost = "31 ns of CPU per empty I/O, 32.3 M/s per core";
    assert_eq!(with(CHEAP, "empty-loop"), (Pass, loop_cost.into()));
    assert_eq!(with(CHEAP, "clock-cost").0, Pass);
    let dear = ToolCosts {
        clock_ns: 400.0,
        empty_loop_ns: 90.0,
    };
    assert_eq!(with(dear, "empty-loop").0, Warn);
    assert_eq!(with(dear, "clock-cost").0, Warn);
    let unmeasured = run(&DoctorFacts::new(&roots, None)).checks;
    let cost = |c: &Check| c.id == "empty-loop" || c.id == "clock-cost";
    assert!(!unmeasured.iter().any(cost));
}

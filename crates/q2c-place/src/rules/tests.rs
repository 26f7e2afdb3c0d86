//! The rules against values worked out by hand from their text, and their properties.

use super::*;
use crate::map::SmtMap;
use proptest::prelude::*;

fn apply(next: Move, tally: &mut Tally<'_>) {
    match next {
        Move::Steal(steal) => tally.shift(steal.from, steal.to, steal.class),
        Move::Swap(swap) => {
            tally.shift(swap.from, swap.to, Class::Polling);
            if let Some(back) = swap.back {
                tally.shift(back, swap.from, Class::Compute);
            }
        }
    }
}

/// Makes all moves that the rules ask for in `tally`, whose tasks may run anywhere, and lists them.
fn all_moves(tally: &mut Tally<'_>, rules: Rules) -> Vec<Move> {
    let mut moves = Vec::new();
    while let Some(next) = decider(tally, rules).next_move() {
        apply(next, tally);
        moves.push(next);
    }
    moves
}

fn decider<'a>(tally: &'a Tally<'a>, rules: Rules) -> Decider<'a, AllMovable> {
    Decider {
        tally,
        rules,
        threshold: THRESHOLD,
        movable: &AllMovable,
    }
}

fn counts(cores: &[&str]) -> Vec<RunQueueCounts> {
    let cpus = cores.iter().flat_map(|core| core.split('|'));
    let queue = |text: &str| RunQueueCounts {
        compute: text.matches('C').count() as u32,
        polling: text.matches('P').count() as u32,
    };
    cpus.map(queue).collect()
}

fn stolen(cores: &[&str], to: CpuIndex) -> Option<(CpuIndex, Class)> {
    let map = SmtMap::regular(cores.len(), 2, 1);
    let tally = Tally::from_counts(&map, &counts(cores));
    let steal = decider(&tally, Rules::Literal).steal(to);
    steal.map(|steal| (steal.from, steal.class))
}

/// Cores, and what CPU 0 takes from which CPU.
#[test]
fn a_cpu_takes_the_published_task_from_the_published_source() {
    use Class::{Compute, Polling};
    let cases: [(&[&str], _); 14] = [
        // Within a core. P_d = 1 >= P_s = 1: P. P_d = 0 < P_s = 1: C. P_s = 0: s has no P, so C.
        (&["P|PCC"], Some((1, Polling))),
        (&["C|PCC"], Some((1, Compute))),
        (&["C|CCC"], Some((1, Compute))),
        // Between cores. P_T / N_P = 1: core 0 has none, core 1 two.
        (&["C|C", "PPC|C"], Some((2, Polling))),
        (&["P|C", "PCC|C"], Some((2, Compute))),
        // 3 / 2 = 1.5: 1 is below and 2 above.
        (&["P|C", "PPC|C"], Some((2, Polling))),
        // P_T / N_P = 1: core 1 has two P tasks in the first case, but only one in the second: C.
        (&["|C", "PP|CC"], Some((2, Polling))),
        (&["|C", "P|CC", "P|P"], Some((3, Compute))),
        // Colocated: s holds only P tasks and d fewer of them.
        (&["|PP", "C|C"], None),
        (&["C|PPP", "P|CCC"], Some((3, Compute))),
        // Colocated: d holds only P tasks, s none.
        (&["P|CCC", "P|C"], None),
        (&["P|CCC", "P|CCC"], Some((3, Compute))),
        // d is mixed, or idle, and P_s = 0: it takes a C task from its sibling.
        (&["PC|CCCC"], Some((1, Compute))),
        (&["|CC"], Some((1, Compute))),
    ];
    for (cores, wanted) in cases {
        assert_eq!(stolen(cores, 0), wanted, "{cores:?}");
    }
}

#[test]
fn the_nearest_source_comes_first_and_nearly_equal_loads_rest() {
    assert_eq!(stolen(&["|CC", "CCCC|"], 0), Some((1, Class::Compute)));
    assert_eq!(stolen(&["C|CC", "CC|CC"], 0), None);
    let map = SmtMap::regular(3, 1, 3);
    let far = SmtMap::new(&[0, 1, 0].map(|llc| crate::map::Core {
        cpus: vec![q2c_model::CpuId(llc)],
        llc,
    }));
    let queues = counts(&["", "CCC", "CC"]);
    let from = |map: &SmtMap| {
        let tally = Tally::from_counts(map, &queues);
        let steal = decider(&tally, Rules::Literal).steal(0);
        steal.map(|steal| steal.from)
    };
    assert_eq!(from(&map), Some(1), "the most loaded of equally near ones");
    assert_eq!(from(&far), Some(2), "the one in the same cache");
}

struct Pinned(CpuIndex, Class);

impl Movable for Pinned {
    fn may_move(&self, from: CpuIndex, _: CpuIndex, class: Class) -> bool {
        (from, class) != (self.0, self.1)
    }
}

#[test]
fn pinned_tasks_stay() {
    let map = SmtMap::regular(2, 2, 1);
    let tally = Tally::from_counts(&map, &counts(&["|", "PPP|CC"]));
    let pinned = [2, 1, 0].map(|cpu| Pinned(cpu, Class::Polling));
    let with_pinned = |tally, movable| Decider {
        tally,
        rules: Rules::WithSwap,
        threshold: THRESHOLD,
        movable,
    };
    let taken = with_pinned(&tally, &pinned[0]).steal(0).unwrap();
    assert_eq!((taken.from, taken.class), (3, Class::Compute));
    let tally = Tally::from_counts(&map, &counts(&["PC|PC", "C|C"]));
    for (pinned, other) in pinned[1..].iter().zip([0, 1]) {
        let swapped = with_pinned(&tally, pinned).swap().unwrap();
        assert_eq!((swapped.from, swapped.reason), (other, SwapReason::Scatter));
    }
}

#[test]
fn an_even_mixed_start_needs_the_swap_step() {
    let map = SmtMap::regular(4, 2, 1);
    let mixed = counts(&["PC|PC"; 4]);
    let mut literal = Tally::from_counts(&map, &mixed);
    assert!(all_moves(&mut literal, Rules::Literal).is_empty());
    let mut swapped = Tally::from_counts(&map, &mixed);
    let moves = all_moves(&mut swapped, Rules::WithSwap);
    assert_eq!(moves.len(), 4);
    assert_eq!(swapped.cpus, counts(&["PP|CC"; 4]));
}

#[test]
fn polling_tasks_are_gathered_for_the_room_they_leave() {
    let end = |cores: &[&str], rules| {
        let map = SmtMap::regular(cores.len(), 2, 1);
        let mut tally = Tally::from_counts(&map, &counts(cores));
        all_moves(&mut tally, rules);
        tally.cpus.to_vec()
    };
    // Three P tasks and a C task have four CPUs: nobody would use the one that is left idle.
    let three = ["P|P", "P|C"];
    assert_eq!(end(&three, Rules::WithSwap), counts(&["PP|", "P|C"]));
    assert_eq!(end(&three, Rules::Proposed), counts(&three));
    // Two C tasks share a CPU: one of them comes.
    let come = counts(&["PP|C", "P|C"]);
    assert_eq!(end(&["P|P", "P|CC"], Rules::Proposed), come);
}

fn machines() -> impl Strategy<Value = (SmtMap, Vec<RunQueueCounts>)> {
    (1..=6_usize, 1..=3_usize, 1..=3_usize).prop_flat_map(|(cores, threads, llcs)| {
        let map = SmtMap::regular(cores, threads, llcs);
        let queue = (0..=3_u32, 0..=3_u32)
            .prop_map(|(compute, polling)| RunQueueCounts { compute, polling });
        let queues = proptest::collection::vec(queue, map.cpus());
        (Just(map), queues)
    })
}

fn settle<'a>(map: &'a SmtMap, queues: &[RunQueueCounts], rules: Rules) -> Tally<'a> {
    let mut tally = Tally::from_counts(map, queues);
    let mut seen = std::collections::HashSet::from([tally.cpus.to_vec()]);
    while let Some(next) = decider(&tally, rules).next_move() {
        apply(next, &mut tally);
        let new = seen.insert(tally.cpus.to_vec());
        assert!(new, "{queues:?} comes again by {next:?}");
    }
    tally
}

fn totals(tally: &Tally<'_>) -> (u32, u32) {
    let sum = |field: fn(&RunQueueCounts) -> u32| tally.cpus.iter().map(field).sum();
    (sum(|counts| counts.compute), sum(|counts| counts.polling))
}

fn are_even(end: &Tally<'_>) -> bool {
    let polling = (0..end.map.cores()).map(|core| end.polling_of_core[core]);
    polling.clone().max().unwrap_or(0) - polling.min().unwrap_or(0) <= 1
}

proptest! {
    #[test]
    fn the_literal_rules_end_and_never_go_round((map, queues) in machines()) {
        let before = totals(&Tally::from_counts(&map, &queues));
        let end = settle(&map, &queues, Rules::Literal);
        prop_assert_eq!(totals(&end), before);
    }

    #[test]
    fn the_proposed_rules_end_even_and_leave_no_shared_cpu_beside_an_idle_one((map, queues) in machines()) {
        let end = settle(&map, &queues, Rules::Proposed);
prop_assert!(are_even(&end), "{:?}", end.cpus);
        let shares = |counts: &RunQueueCounts| counts.compute > 0 && counts.load() > 1;
        let idle = end.cpus.iter().any(|counts| counts.load() == 0);
        prop_assert!(!(idle && end.cpus.iter().any(shares)), "{:?}", end.cpus);
    }

    #[test]
    fn with_the_swap_step_polling_tasks_are_even_and_on_one_side((map, queues) in machines()) {
        let before = totals(&Tally::from_counts(&map, &queues));
        let end = settle(&map, &queues, Rules::WithSwap);
        prop_assert_eq!(totals(&end), before);
prop_assert!(are_even(&end), "{:?}", end.cpus);
        for core in 0..map.cores() {
            let sides = map.cpus_of(core).iter().filter(|cpu| end.cpus[**cpu].polling > 0);
            prop_assert!(sides.count() <= 1, "{:?}", end.cpus);
        }
    }

    #[test]
    fn any_order_of_cpus_ends_the_same_way((map, queues) in machines(), first in 0..18_usize) {
        let mut tally = Tally::from_counts(&map, &queues);
        let mut turns_left = 10_000;
        let mut turns_without_move = 0;
        for cpu in (0..map.cpus()).cycle().skip(first) {
            let rules = decider(&tally, Rules::WithSwap);
            let swap = || rules.swap_for_core(map.core_of(cpu)).map(Move::Swap);
            let next = rules.steal(cpu).map(Move::Steal).or_else(swap);
            turns_without_move = if next.is_some() { 0 } else { turns_without_move + 1 };
            if let Some(next) = next { apply(next, &mut tally); }
            turns_left -= 1;
            prop_assert!(turns_left > 0, "the rules do not rest: {:?}", queues);
            if turns_without_move == map.cpus() { break; }
        }
        prop_assert!(decider(&tally, Rules::WithSwap).next_move().is_none());
    }
}
